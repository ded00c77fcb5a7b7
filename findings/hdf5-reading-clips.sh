#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What libhdf5 makes of numbers that the type in memory cannot hold: it reads the nearest one that it can, and reports
# nothing. What a nan becomes is the processor's conversion.
#
# Seen with h5py 3.16.0 (HDF5 2.0.0) on x86-64: of a dataset of uint64 with 2^63 + 5, read as int64, comes 2^63 - 1; of
# float64 with 1e30, -1e30 and nan, read as int32, come the largest and the smallest integer, and the latter for the nan
# too. NumPy's astype wraps, or warns. So whoever reads 64-bit labels as signed ones has to look at them unsigned.
#
# Installs the packages in a temporary folder; fails if any of this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q h5py==3.16.0 numpy==2.4.6
cat > "$folder/look.py" <<'PYTHON'
import sys

import h5py
import numpy as np

with h5py.File(sys.argv[1], "w") as f:
    f["unsigned"] = np.array([7, 2**63 + 5], "u8")
    f["float"] = np.array([1.5, 1e30, -1e30, np.nan], "f8")
    signed, small = np.zeros(2, "i8"), np.zeros(4, "i4")
    f["unsigned"].read_direct(signed)
    f["float"].read_direct(small)
print(h5py.version.hdf5_version, signed.tolist(), small.tolist())
assert signed.tolist() == [7, 2**63 - 1], signed
assert small.tolist() == [1, 2**31 - 1, -(2**31), -(2**31)], small
PYTHON
"$folder/venv/bin/python" "$folder/look.py" "$folder/x.h5"
