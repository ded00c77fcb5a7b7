# SPDX-License-Identifier: Apache-2.0
"""functional.py - torch.functional: names that ctsc has, too."""


def __getattr__(name):
    import ctsc
    return getattr(ctsc, name)
