# SPDX-License-Identifier: Apache-2.0
# lit's settings for tests/ir and tests/cli: RUN lines in a shell, %ctsc the command under test.
import os

import lit.formats

config.name = "ctsc"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".ir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(os.path.dirname(os.environ["CTSC"]), "lit")
config.environment["PATH"] = "/usr/lib/llvm-19/bin:" + os.environ.get("PATH", "")
for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.substitutions.append(("%ctsc", os.environ["CTSC"]))
# Before a command: the simulated CUDA device.
sim = os.path.join(os.path.dirname(os.environ["CTSC"]), "tests", "cuda", "libcudasim.so")
config.substitutions.append(("%sim", f"env CTSC_CUDA_DRIVER={sim} CTSC_NVRTC={sim}"))
config.substitutions.append(("%models", os.path.join(os.path.dirname(config.test_source_root), "models")))
config.substitutions.append(("%corpus", os.path.join(config.test_source_root, "corpus")))
