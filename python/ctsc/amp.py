# SPDX-License-Identifier: Apache-2.0
"""amp.py - torch.amp: autocast, in which products are computed with half the bits and what needs all of them in float32; GradScaler, which float16's gradients need."""
import functools
import sys

from . import _C
from ._intercept import autocast_state, changed

_CACHE = True


class autocast:
    """A block, or a decorated function. The dtype is bfloat16 on CPUs where none is given, float16 on GPUs."""

    def __init__(self, device_type="cpu", dtype=None, enabled=True, cache_enabled=None):
        if device_type not in ("cpu", "cuda"):
            raise RuntimeError("User specified an unsupported autocast device_type '%s'" % device_type)
        self.device = self.device_type = device_type
        self.fast_dtype = dtype or (_C.bfloat16 if device_type == "cpu" else _C.float16)
        if self.fast_dtype not in (_C.bfloat16, _C.float16, _C.float32):
            raise RuntimeError("autocast computes in bfloat16 or float16, not %s" % self.fast_dtype)
        self._enabled, self._before = bool(enabled), []

    def __enter__(self):
        state = autocast_state()
        self._before.append(getattr(state, self.device, None))
        setattr(state, self.device, self.fast_dtype if self._enabled else None)
        changed(+1)
        return self

    def __exit__(self, *exception):
        setattr(autocast_state(), self.device, self._before.pop())
        changed(-1)
        return False

    def __call__(self, func):
        @functools.wraps(func)
        def run(*args, **kwargs):
            with self:
                return func(*args, **kwargs)
        return run


def is_autocast_available(device_type):
    return device_type in ("cpu", "cuda")


def _cast_all(x, dtype, device):
    if isinstance(x, _C.Tensor):
        kind = x.dtype
        return x.to(dtype) if x.device.type == device and kind.is_floating_point and kind is not _C.float64 else x
    if isinstance(x, dict):
        return {k: _cast_all(v, dtype, device) for k, v in x.items()}
    return type(x)(_cast_all(v, dtype, device) for v in x) if type(x) in (list, tuple) else x


def custom_fwd(fwd=None, *, device_type="cpu", cast_inputs=None):
    """A Function's forward within autocast: its inputs are made cast_inputs, and autocast is off; without cast_inputs it is as outside, for backward, too."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def run(*args, **kwargs):
        dtype = getattr(autocast_state(), device_type, None)
        args[0]._dtype, args[0]._fwd_used_autocast = dtype, dtype is not None and cast_inputs is None
        if dtype is None or cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast_all(args, cast_inputs, device_type), **_cast_all(kwargs, cast_inputs, device_type))
    return run


def custom_bwd(bwd=None, *, device_type="cpu"):
    """A Function's backward computes in autocast where its forward did."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def run(*args, **kwargs):
        with autocast(device_type, args[0]._dtype, args[0]._fwd_used_autocast):
            return bwd(*args, **kwargs)
    return run


class GradScaler:
    """Scales losses, so that gradients in float16 do not vanish, and leaves out steps whose gradients are not finite."""

    def __init__(self, device="cuda", init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        if not isinstance(device, str): # torch.cuda.amp.GradScaler(init_scale, ...)
            device, init_scale = "cuda", device
        if enabled and device == "cuda":
            if not _C.cuda_device_count():
                import warnings
                warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
                enabled = False
        if enabled and not growth_factor > 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and not backoff_factor < 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._enabled, self._scale, self._growth, self._backoff, self._interval = enabled, float(init_scale), growth_factor, backoff_factor, growth_interval
        self._steps, self._scaled = 0, False
        self._seen = {} # id of an optimiser -> [were its gradients finite? None: not known, has it stepped?]

    def get_growth_factor(self):
        return self._growth

    def set_growth_factor(self, new_factor):
        self._growth = new_factor

    def get_backoff_factor(self):
        return self._backoff

    def set_backoff_factor(self, new_factor):
        self._backoff = new_factor

    def get_growth_interval(self):
        return self._interval

    def set_growth_interval(self, new_interval):
        self._interval = new_interval

    def is_enabled(self):
        return self._enabled

    def get_scale(self):
        return self._scale if self._enabled else 1.0

    def _check(self, name):
        if not self._scaled:
            raise AssertionError("Attempted %s but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration." % name)

    def scale(self, outputs):
        if not self._enabled:
            return outputs
        self._scaled = True
        if isinstance(outputs, _C.Tensor):
            return outputs * self._scale
        if not hasattr(outputs, "__iter__"):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled

    def _unscale(self, optimizer):
        finite = True
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if any(g.dtype is _C.float16 for g in grads):
            raise ValueError("Attempting to unscale FP16 gradients.")
        for g in grads:
            finite = bool(g.isfinite().all()) and finite
            g.detach().mul_(1.0 / self._scale)
        return finite if grads else None

    def unscale_(self, optimizer):
        if not self._enabled:
            return
        self._check("unscale_")
        if id(optimizer) in self._seen:
            raise RuntimeError("unscale_() is being called after step()." if self._seen[id(optimizer)][1] else
                               "unscale_() has already been called on this optimizer since the last update().")
        self._seen[id(optimizer)] = [self._unscale(optimizer), False]

    def step(self, optimizer, *args, **kwargs):
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check("step")
        if self._seen.get(id(optimizer), (None, False))[1]:
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self._seen:
            self.unscale_(optimizer)
        seen = self._seen[id(optimizer)]
        if seen[0] is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = optimizer.step(*args, **kwargs) if seen[0] else None
        seen[1] = True
        return result

    def update(self, new_scale=None):
        if not self._enabled:
            return
        self._check("update")
        found = [finite for finite, _ in self._seen.values() if finite is not None]
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not found:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif not all(found):
            self._scale, self._steps = self._scale * self._backoff, 0
        else:
            self._steps += 1
            if self._steps == self._interval:
                grown = self._scale * self._growth
                self._scale, self._steps = grown if grown <= 3.4028234663852886e38 else self._scale, 0
        self._seen = {}

    def state_dict(self):
        return {"scale": self._scale, "growth_factor": self._growth, "backoff_factor": self._backoff, "growth_interval": self._interval,
                "_growth_tracker": self._steps} if self._enabled else {}

    def load_state_dict(self, state_dict):
        if self._enabled:
            if not state_dict:
                raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.")
            self._scale, self._growth, self._backoff = state_dict["scale"], state_dict["growth_factor"], state_dict["backoff_factor"]
            self._interval, self._steps = state_dict["growth_interval"], state_dict["_growth_tracker"]


# Both are modules of their own in PyTorch.
autocast_mode = grad_scaler = sys.modules[__name__ + ".autocast_mode"] = sys.modules[__name__ + ".grad_scaler"] = sys.modules[__name__]


def _cast(value, device_type, dtype):
    return _cast_all(value, dtype, device_type)
