# SPDX-License-Identifier: Apache-2.0
"""torch.optim: optimisers, by the library; schedules of learning rates (lr_scheduler), averages of weights (swa_utils). The Python package has it as ctsc.optim."""
from . import lr_scheduler
from .optimizer import Optimizer
from .optimizers import (ASGD, LBFGS, SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, NAdam, RAdam, RMSprop, Rprop)
