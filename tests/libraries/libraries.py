#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libraries.py - libraries that import torch, installed without PyTorch, give under ctsc what they give under PyTorch 2.15.

    tests/libraries/libraries.py --package build/python --site FOLDER [NAME...]     # compares use_NAME.py with use_NAME.txt
    tests/libraries/libraries.py --write --torch PYTHON --site FOLDER [NAME...]     # what PyTorch prints becomes use_NAME.txt

FOLDER is a virtual environment, which --install makes: what the libraries need beside PyTorch from the package index, they themselves with --no-deps. PYTHON has PyTorch; it
finds the libraries in FOLDER. Text must be equal; numbers may differ by 1 in 1,000, as rounding does. A library that is not there is skipped; status 77: all were.
"""
import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "python"))
from programs import same_line  # noqa: E402

# name of the program: what it installs. docs/python.md has the table.
LIBRARIES = {
    "torchvision": ["torchvision==0.29.2"], "torchaudio": ["torchaudio==2.11.1"], "timm": ["timm==1.0.31"], "transformers": ["transformers==5.24.0", "accelerate==1.15.0"],
    "torchmetrics": ["torchmetrics==1.9.0"], "lightning": ["lightning==2.6.6", "pytorch-lightning==2.6.6", "lightning-utilities==0.15.3", "torchmetrics==1.9.0"],
    "einops": ["einops==0.8.2"], "safetensors": ["safetensors==0.8.0"], "accelerate": ["accelerate==1.15.0"], "captum": ["captum==0.9.0"], "skorch": ["skorch==1.4.0"],
    "gpytorch": ["gpytorch==1.15.2", "linear_operator==0.6.1", "jaxtyping", "wadler_lindig"], "kornia": ["kornia==0.9.0", "kornia_rs"],
    "torch_geometric": ["torch_geometric==2.8.1", "xxhash"], "peft": ["peft==0.21.2", "transformers==5.24.0", "accelerate==1.15.0"], "diffusers": ["diffusers==0.42.1"],
    "segmentation_models_pytorch": ["segmentation_models_pytorch==0.6.0", "timm==1.0.31", "torchvision==0.29.2"],
}
NEEDED = ["numpy", "pillow", "pyyaml", "requests", "packaging", "tqdm", "regex", "tokenizers", "huggingface_hub", "filelock", "fsspec", "typing_extensions", "scikit-learn", "scipy",
          "tabulate", "psutil", "matplotlib", "aiohttp", "jinja2", "networkx", "sympy", "tensorboard", "setuptools"]


def python_of(site):
    return os.path.join(site, "bin", "python")


def install(site, names, base):
    if not os.path.exists(python_of(site)):
        subprocess.run([base, "-m", "venv", site], check=True)
        subprocess.run([python_of(site), "-m", "pip", "install", "-q", *NEEDED], check=True)
    wanted = sorted({package for name in names for package in LIBRARIES[name]})
    subprocess.run([python_of(site), "-m", "pip", "install", "-q", "--no-deps", *wanted], check=True)


def packages_of(python):
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def has(site, name):
    return subprocess.run([python_of(site), "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec(%r) is None)" % name], check=False).returncode == 0


def output(command, path):
    env = {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore", "PYTHONHASHSEED": "0", "HF_HUB_OFFLINE": "1", "CTSC_JIT": os.environ.get("CTSC_JIT", "1")}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=540, check=False)
    return done.stdout, done.returncode, done.stderr


def compare(name, text):
    with open(os.path.join(HERE, "use_%s.txt" % name), encoding="utf-8") as f:
        want = f.read().split("\n")
    got = text.split("\n")
    wrong = ["line %d:\n  got  %s\n  want %s" % (i + 1, g, w) for i, (g, w) in enumerate(zip(got, want)) if not same_line(g, w)]
    return wrong + (["%d lines, %d wanted" % (len(got), len(want))] if len(got) != len(want) else [])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("names", nargs="*")
    ap.add_argument("--package", default="build/python")
    ap.add_argument("--site", required=True)
    ap.add_argument("--install", action="store_true")
    ap.add_argument("--base", default=sys.executable, help="the Python of the environment")
    ap.add_argument("--write", action="store_true")
    ap.add_argument("--torch", default=sys.executable, help="a Python that has PyTorch")
    args = ap.parse_args()
    names, failed, ran = args.names or sorted(LIBRARIES), [], 0
    if args.install:
        install(args.site, names, args.base)
    for name in names:
        program = os.path.join(HERE, "use_%s.py" % name)
        if not has(args.site, name):
            print("%-14s skipped: not installed" % name)
            continue
        ran += 1
        if args.write:
            text, code, err = output([python_of(args.site), program], packages_of(args.torch))
        else:
            text, code, err = output([python_of(args.site), "-m", "ctsc", program], os.path.abspath(args.package))
        wrong = ["ended with %d: %s" % (code, err[-1500:])] if code else [] if args.write else compare(name, text)
        if wrong:
            failed.append(name)
        elif args.write:
            with open(os.path.join(HERE, "use_%s.txt" % name), "w", encoding="utf-8") as f:
                f.write(text)
        print("%-14s %s" % (name, "\n".join(wrong) or "the same"), flush=True)
    return 77 if not ran else 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
