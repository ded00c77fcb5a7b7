# SPDX-License-Identifier: Apache-2.0
"""on_terminal.py [--both] COMMAND... - what the command writes to standard error (and output) where that is a terminal, a line for each state of it."""
import os
import pty
import re
import subprocess
import sys

both = sys.argv[1] == "--both"
ours, theirs = pty.openpty()
p = subprocess.Popen(sys.argv[1 + both:], stdin=subprocess.DEVNULL, stdout=theirs if both else subprocess.DEVNULL, stderr=theirs)
os.close(theirs)
text = b""
while True:
    try:
        part = os.read(ours, 4096)
    except OSError: # the other end is closed
        break
    if not part:
        break
    text += part
print(re.sub(r"\r\x1b\[K", "\n", text.decode()))
sys.exit(p.wait())
