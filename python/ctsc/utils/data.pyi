# SPDX-License-Identifier: Apache-2.0
# ctsc.utils.data is ctsc.data (utils/__init__.py).
from ctsc.data import *
