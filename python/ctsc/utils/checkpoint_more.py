# SPDX-License-Identifier: Apache-2.0
# checkpoint_more.py - checkpoint(use_reentrant=False): what a function saves for the backward pass is computed again when the pass needs it.
#
# Hooks of saved tensors keep a place in each tensor's stead. The first place that a pass looks into lets the function run once more; what is saved then, in the same order,
# fills all places that somebody still needs. Parameters that the function finds elsewhere get gradients like any others.
import contextlib
import weakref

from ctsc import amp as _amp
from ctsc._intercept import autocast_state as _autocast_state
from ctsc.autograd.graph import saved_tensors_hooks as _saved_tensors_hooks


class CheckpointError(RuntimeError):
    pass


class _Enough(Exception):
    """All that is needed has been computed."""


class _Place:
    """Of a saved tensor: `value` once it has been computed again."""

    value = None


def noop_context_fn():
    return contextlib.nullcontext(), contextlib.nullcontext()


_early_stop = [True]


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    before, _early_stop[0] = _early_stop[0], enable
    try:
        yield
    finally:
        _early_stop[0] = before


class _Call:
    def __init__(self, function, args, kwargs, preserve, context, check, early_stop):
        self.function, self.args, self.kwargs, self.context, self.check, self.early_stop = function, args, kwargs, context, check, early_stop
        self.places, self.told = [], []
        self.state = torch.get_rng_state() if preserve else None
        self.autocast = [(d, getattr(_autocast_state(), d, None)) for d in ('cpu', 'cuda')]

    @staticmethod
    def _about(t):
        return tuple(t.shape), t.dtype, t.device

    def pack(self, t):
        place = _Place()
        place.at = len(self.places)
        self.places.append(weakref.ref(place))
        self.told.append(self._about(t))
        return place

    def unpack(self, place):
        if place.value is None:
            self.compute()
            if place.value is None:
                raise CheckpointError('torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n'
                                      'Number of tensors saved during forward: {}'.format(len(self.places)))
        return place.value

    def compute(self):
        count = [0]

        def again(t):
            at, count[0] = count[0], count[0] + 1
            if at >= len(self.places):
                raise CheckpointError('torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass.')
            if self.check and self.told[at] != self._about(t):
                raise CheckpointError('torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the forward pass.\n'
                                      'tensor at position {}:\nsaved metadata: {}\nrecomputed metadata: {}'.format(at, self.told[at], self._about(t)))
            place = self.places[at]()
            if place is not None:
                place.value = t.detach()
            if self.early_stop and count[0] == len(self.places):
                raise _Enough()
            return t

        args = [a.detach().requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor) else a for a in self.args]
        kwargs = {k: a.detach().requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor) else a for k, a in self.kwargs.items()}
        with torch.random.fork_rng(enabled=self.state is not None), contextlib.ExitStack() as stack:
            if self.state is not None:
                torch.set_rng_state(self.state)
            for device, dtype in self.autocast:
                stack.enter_context(_amp.autocast(device, dtype, dtype is not None))
            stack.enter_context(self.context)
            stack.enter_context(torch.enable_grad())
            stack.enter_context(_saved_tensors_hooks(again, lambda t: t))
            try:
                self.function(*args, **kwargs)
            except _Enough:
                pass


_reentrant = checkpoint


def checkpoint(function=None, *args, use_reentrant=None, preserve_rng_state=True, context_fn=noop_context_fn, determinism_check='default', debug=False, early_stop=True,
               respect_saved_tensors_hooks=None, **kwargs):
    if function is None:
        return lambda f: lambda *a, **k: checkpoint(f, *a, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state, context_fn=context_fn,
                                                    determinism_check=determinism_check, early_stop=early_stop, **k)
    if use_reentrant is None:
        import warnings
        warnings.warn('torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly.', stacklevel=2)
        use_reentrant = True
    if use_reentrant:
        if context_fn is not noop_context_fn or debug:
            raise ValueError('Passing `context_fn` or `debug` is only supported when use_reentrant=False.')
        return _reentrant(function, *args, use_reentrant=True, preserve_rng_state=preserve_rng_state, **kwargs)
    first, second = context_fn()
    if not torch.is_grad_enabled():
        with first:
            return function(*args, **kwargs)
    call = _Call(function, args, kwargs, preserve_rng_state, second, determinism_check == 'default', early_stop and _early_stop[0])
    with first, _saved_tensors_hooks(call.pack, call.unpack):
        return function(*args, **kwargs)


def get_device_states(*args):
    """The states of random numbers of the other devices that tensors are on: devices, states."""
    found = sorted({a.device.index or 0 for a in args if isinstance(a, torch.Tensor) and a.device.type == 'cuda'})
    return found, [torch.cuda.get_rng_state(i) for i in found]


def set_device_states(devices, states, *, device_type=None):
    """Sets what get_device_states gave."""
    for device, state in zip(devices, states):
        torch.cuda.set_rng_state(state, device)


def check_backward_validity(inputs):
    """Warns where nothing that goes into a checkpoint requires gradients."""
    if not any(a.requires_grad for a in inputs if isinstance(a, torch.Tensor)):
        import warnings
        warnings.warn('None of the inputs have requires_grad=True. Gradients will be None')


def detach_variable(inputs):
    """The same tensors, without what they were computed of."""
    if not isinstance(inputs, tuple):
        raise RuntimeError('Only tuple of tensors is supported. Got Unsupported input type: ' + type(inputs).__name__)
    return tuple(a.detach().requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor) else a for a in inputs)
