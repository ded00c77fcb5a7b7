#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command with the simulated GPU (tests/cuda/sim/sim.h).

    python3 tests/cuda/sim.py [--build build] [--lazy] [--reverse] [--no-cache] [--libraries] [--keep FOLDER] COMMAND ...

    tests/cuda/sim.py build/ctsc run net.pt --device cuda --inputs in.pt --expect out.pt

  --lazy      the device works only when somebody waits for it: finds missing waits
  --reverse   threads of a block take turns from last to first: finds missing barriers
  --races     kernels are watched for accesses to shared memory that no barrier orders
  --no-cache  each tensor is an allocation of the driver, with pages around it that nobody may touch: finds kernels that
              read or write beside their tensors
  --libraries  with a simulated cuBLASLt and a simulated cuDNN as well
  --keep      keeps the sources that were compiled, as the compiler saw them, in FOLDER
"""
import argparse
import os
import sys


def environment(build, lazy=False, reverse=False, races=False, no_cache=False, libraries=False, keep=None, base=None):
    """The environment of a program that is to see the simulated device."""
    env = dict(os.environ if base is None else base)
    library = os.path.abspath(os.path.join(build, "tests", "cuda", "libcudasim.so"))
    env["CTSC_CUDA_DRIVER"] = env["CTSC_NVRTC"] = library
    # The real ones can do nothing with this device.
    env["CTSC_CUBLASLT"] = env["CTSC_CUDNN"] = library if libraries else "/dev/null"
    for name, on in (("CTSC_SIM_LAZY", lazy), ("CTSC_SIM_REVERSE", reverse), ("CTSC_SIM_RACES", races)):
        if on:
            env[name] = "1"
    if no_cache:
        env["CTSC_CUDA_MEMORY_CACHE"] = "0"
    if keep:
        os.makedirs(keep, exist_ok=True)
        env["CTSC_SIM_KEEP"] = os.path.abspath(keep)
    return env


def main():
    ap = argparse.ArgumentParser(description="Run a command with the simulated GPU.")
    ap.add_argument("--build", default="build", help="build folder")
    ap.add_argument("--lazy", action="store_true", help="work only when somebody waits")
    ap.add_argument("--reverse", action="store_true", help="threads from last to first")
    ap.add_argument("--races", action="store_true", help="watch shared memory")
    ap.add_argument("--no-cache", action="store_true", help="each tensor is an allocation of the driver")
    ap.add_argument("--libraries", action="store_true", help="simulated cuBLASLt and cuDNN")
    ap.add_argument("--keep", metavar="FOLDER", help="keep the sources that were compiled")
    ap.add_argument("command", nargs=argparse.REMAINDER)
    args = ap.parse_args()
    if not args.command:
        ap.error("no command")
    os.execvpe(args.command[0], args.command,
               environment(args.build, args.lazy, args.reverse, args.races, args.no_cache, args.libraries, args.keep))


if __name__ == "__main__":
    sys.exit(main())
