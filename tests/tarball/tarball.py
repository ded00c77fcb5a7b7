#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command as one file (packaging/static.mk): it asks for no library, runs networks to the same bits as the ordinary command, and says that it
compiles no kernels. Archives whose directories are ambiguous are refused as ever, without libzip's help.

    python3 tests/tarball/tarball.py --tarball dist/ctsc-VERSION-linux-ARCHITECTURE.tar.xz --ctsc build/ctsc
"""
import argparse
import glob
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = ROOT + "/tests/corpus/"
RUNS = ["models/transformer_encoder_script", "models/mlp_trace", "models/conv3d_net_trace", "models/gru_l1_bi_script", "quantized/static_convnet_script",
        "models/style_transfer_script"]


def run(command):
    return subprocess.run(command, capture_output=True, text=True, env={})


def duplicate(source, to):
    """The archive with a record twice: readers could take either."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(to, "w", zipfile.ZIP_STORED) as new:
        for entry in old.infolist():
            new.writestr(entry.filename, old.read(entry))
        new.writestr(old.infolist()[0].filename, b"x")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tarball", required=True)
    parser.add_argument("--ctsc", default="build/ctsc")
    given = parser.parse_args()
    done = failed = 0

    def check(what, holds, why=""):
        nonlocal done, failed
        done += 1
        failed += not holds
        if not holds:
            print("FAIL %s %s" % (what, why))

    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(given.tarball) as t:
            names = t.getnames()
            t.extractall(folder)
        ctsc = glob.glob(folder + "/ctsc-*/bin/ctsc")[0]
        for name in ("share/man/man1/ctsc.1", "share/completions/ctsc.bash", "copyright", "LICENSE"):
            check(name, any(n.endswith("/" + name) for n in names))
        headers = subprocess.run(["readelf", "-ldW", ctsc], capture_output=True, text=True, check=True).stdout
        check("no loader", "INTERP" not in headers and "(NEEDED)" not in headers, headers)
        check("--version", run([ctsc, "--version"]).stdout == run([given.ctsc, "--version"]).stdout)
        doctor = run([ctsc, "doctor"])
        check("doctor", doctor.returncode == 0 and "one file" in doctor.stdout, doctor.stdout + doctor.stderr)
        for name in RUNS:
            command = ["run", CORPUS + name + "/model.pt", "--inputs", CORPUS + name + "/inputs.pt", "--json", "--opt", "0"]
            one, other = run([ctsc] + command), run([os.path.abspath(given.ctsc)] + command)
            check(name, one.returncode == 0 and one.stdout == other.stdout, one.stderr + other.stderr)
        bad = folder + "/bad.pt"
        for name in RUNS[:2]:
            duplicate(CORPUS + name + "/model.pt", bad)
            one = run([ctsc, "inspect", bad])
            check(name + " with a record twice", one.returncode not in (0, 139), one.stdout + one.stderr)
    print("%d passed, %d failed" % (done - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
