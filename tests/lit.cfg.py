# SPDX-License-Identifier: Apache-2.0
# lit's settings for tests/ir and tests/cli: RUN lines in a shell, %ctsc the command under test.
import ctypes
import os
import sys

import lit.TestRunner

sys.path.insert(0, os.path.dirname(__file__))
from lit_again import Again  # noqa: E402

builtin = lit.TestRunner.getDefaultSubstitutions


# RUN lines give paths to a shell, also to one inside quotes: where they have a space, it is escaped, %s and %t too.
def escaped(path):
    return path.replace(" ", r"\\ ")


def substitutions(*args, **named):
    return [(name, escaped(text) if isinstance(text, str) and os.path.isabs(text) else text) for name, text in builtin(*args, **named)]


lit.TestRunner.getDefaultSubstitutions = substitutions

config.name = "ctsc"
config.test_format = Again(True)
config.suffixes = [".ir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(os.path.dirname(os.environ["CTSC"]), "lit")
config.environment["PATH"] = "/usr/lib/llvm-19/bin:" + os.environ.get("PATH", "")
for name in ("CTSC_MAX_ISA", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.substitutions.append(("%ctsc", os.environ["CTSC"]))
# Before a command: the simulated CUDA device.
sim = os.path.join(os.path.dirname(os.environ["CTSC"]), "tests", "cuda", "libcudasim.so")
config.substitutions.append(("%sim", f"env CTSC_CUDA_DRIVER={escaped(sim)} CTSC_NVRTC={escaped(sim)}"))
config.substitutions.append(("%models", os.path.join(os.path.dirname(config.test_source_root), "models")))
config.substitutions.append(("%corpus", os.path.join(config.test_source_root, "corpus")))
config.substitutions.append(("%pt2", os.path.join(config.test_source_root, "pt2", "archives")))
# The kernel's Landlock (ctsc run --sandbox): landlock_create_ruleset, asked for its version.
if ctypes.CDLL(None).syscall(444, None, 0, 1) > 0:
    config.available_features.add("landlock")
