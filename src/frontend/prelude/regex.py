# SPDX-License-Identifier: Apache-2.0
# regex.py - the package regex, an extension in C, as far as Python's own re goes.
from re import *
