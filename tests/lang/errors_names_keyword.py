import torch
import torch.nn as nn

layer = nn.Linear(2, out_feature=2)  # error: TypeError: Linear.__init__() got an unexpected keyword argument 'out_feature' # note: did you mean 'out_features'? # at: out_feature
