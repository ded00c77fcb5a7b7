# SPDX-License-Identifier: Apache-2.0
"""ctsc.signal - torch.signal: windows."""
from . import windows
