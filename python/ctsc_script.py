#!python
# SPDX-License-Identifier: Apache-2.0
"""The command `ctsc` of a wheel: starts the program in the package, without importing that."""
import os
import sys

programs = [p for p in (os.path.join(folder, "ctsc", "bin", "ctsc") for folder in sys.path) if os.path.isfile(p)]
if not programs:
    sys.exit("ctsc: there is no package ctsc with a command in the folders of %s" % sys.executable)
os.execv(programs[0], ["ctsc"] + sys.argv[1:])
