# SPDX-License-Identifier: Apache-2.0
"""cpp_extension.py - torch.utils.cpp_extension: extensions that are compiled against PyTorch, refused where they are called."""
from .._refused import refuse

__getattr__ = refuse("torch.utils.cpp_extension", "ctsc is not PyTorch's C++ library; ctsc.register_op takes operators in Python or C")
