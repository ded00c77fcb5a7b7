# SPDX-License-Identifier: Apache-2.0
"""python -m ctsc [-m] program [arguments]: runs a program, or a module, that was written for PyTorch with ctsc in torch's place."""
import os
import runpy
import sys


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help") or sys.argv[1:] == ["-m"]:
        print(__doc__)
        return 0 if len(sys.argv) > 1 and sys.argv[1] != "-m" else 2
    from ._as_torch import install
    install()
    if sys.argv[1] == "-m":
        sys.argv = sys.argv[2:]
        sys.path[0] = os.getcwd()
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        return 0
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
