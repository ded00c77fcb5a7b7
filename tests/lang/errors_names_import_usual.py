"""The same while the module is built."""
import torch


class Main(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = np.zeros(3)  # error: NameError: name 'np' is not defined # note: 'np' usually is 'import numpy as np', which the file does not have # at: np
