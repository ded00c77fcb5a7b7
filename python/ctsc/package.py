# SPDX-License-Identifier: Apache-2.0
"""package.py - torch.package: archives of Python code, refused where they are called."""
from ._refused import refuse

__getattr__ = refuse("torch.package", "ctsc reads archives of torch.jit, torch.export and torch.save")
