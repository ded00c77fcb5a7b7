# SPDX-License-Identifier: Apache-2.0
"""pt2_change.py FROM TO TEXT OTHER [N]: an archive whose program has OTHER in the place of TEXT, of the first N of them if N is given."""
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile(sys.argv[2], "w") as new:
    for name in old.namelist():
        data = old.read(name)
        if name.endswith(".json") and "/models/" in name:
            text = data.decode()
            assert sys.argv[3] in text, sys.argv[3]
            data = text.replace(sys.argv[3], sys.argv[4], int(sys.argv[5]) if len(sys.argv) > 5 else -1).encode()
        new.writestr(name, data)
