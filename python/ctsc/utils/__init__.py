# SPDX-License-Identifier: Apache-2.0
"""ctsc.utils - where PyTorch has them: utils.data is ctsc.data."""
import sys

from .. import data

sys.modules[__name__ + ".data"] = data
