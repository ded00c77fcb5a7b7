"""What a layer makes of a wrong argument: which one of which operator, not all that the operator could be."""
import torch.nn as nn

layer = nn.Linear(4, 3.0 * 2)  # error: TypeError: empty(): argument 'size' (position 1) must be tuple of ints, but found element of type float at pos 0
