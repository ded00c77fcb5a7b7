# SPDX-License-Identifier: Apache-2.0
"""backends.py - torch.backends: what programs ask and set of libraries that ctsc does not have. Settings are kept, and change nothing."""
import contextlib
import sys
import types


class _Backend(types.ModuleType):
    def __init__(self, name, **values):
        super().__init__(__name__ + "." + name)
        self.__dict__.update(values)
        self.__dict__.setdefault("is_available", lambda: False)
        self.__dict__.setdefault("is_built", lambda: False)
        sys.modules[self.__name__] = self

    @contextlib.contextmanager
    def flags(self, **options):
        before = {k: self.__dict__.get(k) for k in options}
        self.__dict__.update(options)
        try:
            yield
        finally:
            self.__dict__.update(before)


cudnn = _Backend("cudnn", enabled=False, benchmark=False, deterministic=True, allow_tf32=False, version=lambda: None)
cuda = _Backend("cuda", matmul=types.SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=False, fp32_precision="ieee"),
                flash_sdp_enabled=lambda: False, mem_efficient_sdp_enabled=lambda: False, math_sdp_enabled=lambda: True, enable_flash_sdp=lambda enabled: None,
                enable_mem_efficient_sdp=lambda enabled: None, enable_math_sdp=lambda enabled: None, cudnn_sdp_enabled=lambda: False,
                enable_cudnn_sdp=lambda enabled: None, can_use_flash_attention=lambda params, debug=False: False,
                can_use_efficient_attention=lambda params, debug=False: False, SDPAParams=lambda *args: args)
mps, mkl, mkldnn, openmp, quantized = _Backend("mps", is_macos_or_newer=lambda major, minor: False), _Backend("mkl"), _Backend("mkldnn", enabled=False), _Backend("openmp"), _Backend("quantized", engine="none", supported_engines=["none"])
opt_einsum = _Backend("opt_einsum", enabled=False, strategy=None)
cpu = _Backend("cpu", get_cpu_capability=lambda: "DEFAULT")
fp32_precision = "none"
