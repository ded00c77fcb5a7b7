# SPDX-License-Identifier: Apache-2.0
"""__config__.py - torch.__config__: what the library was built with."""
from . import _C


def show():
    return "ctsc %s, OpenBLAS, C11" % _C.__version__


def parallel_info():
    from ._settings import get_num_threads
    return "ctsc's own threads: %d\n" % get_num_threads()
