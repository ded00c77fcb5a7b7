# SPDX-License-Identifier: Apache-2.0
"""ctsc.utils - where PyTorch has them: utils.data is ctsc.data."""
import sys

from .. import data
from . import _pytree

sys.modules[__name__ + ".data"] = data
for _name in ("dataset", "sampler", "worker"):
    sys.modules["%s.data.%s" % (__name__, _name)] = getattr(data, _name)
sys.modules[__name__ + ".data.dataloader"] = data.loader
sys.modules[__name__ + ".data._utils"] = data
sys.modules[__name__ + ".data._utils.collate"] = data.collate
data.dataloader = data.loader


def __getattr__(name):
    if name not in ("checkpoint", "dlpack", "hooks", "model_zoo", "benchmark", "cpp_extension", "flop_counter", "mobile_optimizer", "collect_env", "tensorboard"):
        raise AttributeError("module 'ctsc.utils' has no attribute '%s'" % name)
    import importlib

    if name == "checkpoint":
        from .. import _nn_support
    return importlib.import_module("." + name, __name__)
