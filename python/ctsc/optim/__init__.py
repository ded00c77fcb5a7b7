# SPDX-License-Identifier: Apache-2.0
"""ctsc.optim - torch.optim: optimisers, by the library; schedules of learning rates (lr_scheduler)."""
from . import lr_scheduler
from .optimizer import Optimizer
from .optimizers import (ASGD, LBFGS, SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, NAdam, RAdam, RMSprop, Rprop)
