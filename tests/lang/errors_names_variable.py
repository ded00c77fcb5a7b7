import torch

learning_rate = 0.1
print(learning_rte)  # error: NameError: name 'learning_rte' is not defined # note: did you mean 'learning_rate'? # at: learning_rte
