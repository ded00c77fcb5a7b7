#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shared library without any of its parts (packaging/without.mk): it still runs networks, and says what it lacks.

    python3 tests/without/without.py --build build-without
"""
import argparse
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = "tests/corpus/"
# What runs, and what fails with which words.
RUNS = ["models/transformer_encoder_script", "models/mlp_trace", "models/conv3d_net_trace", "models/gru_l1_bi_script"]
LACKS = [("quantized/static_convnet_script", "without the part 'quantised'"), ("models/style_transfer_script", "without the part 'vision'")]

LARGEST = 3_130_000  # bytes, stripped


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build-without")
    build = os.path.abspath(parser.parse_args().build)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        program = folder + "/small"
        subprocess.run(["cc", "-I" + ROOT + "/include", ROOT + "/tests/without/small.c", "-o", program, "-L" + build, "-lctsc", "-Wl,-rpath," + build], check=True)
        for name, words in [(n, "") for n in RUNS] + LACKS:
            done = subprocess.run([program] + ["%s/%s%s/%s.pt" % (ROOT, CORPUS, name, f) for f in ("model", "inputs")], capture_output=True, text=True)
            if (done.returncode != 0) != bool(words) or words not in done.stdout:
                failed += 1
                print("FAIL %s: %d %s%s" % (name, done.returncode, done.stdout, done.stderr))
        small = folder + "/libctsc.so"
        subprocess.run(["strip", "-o", small, build + "/libctsc.so"], check=True)
        if os.path.getsize(small) > LARGEST:
            failed += 1
            print("FAIL libctsc.so has %d bytes, of %d at most" % (os.path.getsize(small), LARGEST))
    print("%d passed, %d failed" % (len(RUNS) + len(LACKS) + 1 - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
