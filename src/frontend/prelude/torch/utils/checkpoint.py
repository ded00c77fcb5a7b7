# SPDX-License-Identifier: Apache-2.0
# checkpoint.py - torch.utils.checkpoint: what a function computes on its way is computed again for the gradients, instead of being kept.
import torch
from torch.autograd import Function


class CheckpointFunction(Function):
    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        ctx.run_function, ctx.preserve_rng_state, ctx.args = run_function, preserve_rng_state, args
        if preserve_rng_state:
            ctx.state = torch.get_rng_state()
        return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        args = [a.detach().requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor) else a for a in ctx.args]
        if ctx.preserve_rng_state:
            now = torch.get_rng_state()
            torch.set_rng_state(ctx.state)
        with torch.enable_grad():
            outputs = ctx.run_function(*args)
        if ctx.preserve_rng_state:
            torch.set_rng_state(now)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, torch.Tensor) and o.requires_grad]
        if len(pairs) == 0:
            raise RuntimeError('none of output has requires_grad=True, this checkpoint() is not necessary')
        torch.autograd.backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None) + tuple(a.grad if isinstance(a, torch.Tensor) else None for a in args)


def checkpoint(function, *args, use_reentrant=True, **kwargs):
    preserve = kwargs.pop('preserve_rng_state', True)
    needed = any(isinstance(a, torch.Tensor) and a.requires_grad for a in args)
    if not use_reentrant or not needed or not torch._C._records():
        return function(*args, **kwargs)
    if len(kwargs) > 0:
        raise ValueError('Unexpected keyword arguments: ' + ','.join(kwargs))
    return CheckpointFunction.apply(function, preserve, *args)


def checkpoint_sequential(functions, segments, input, use_reentrant=True, **kwargs):
    functions = list(functions.children()) if isinstance(functions, torch.nn.Sequential) else list(functions)

    def run(part):
        def forward(x):
            for f in part:
                x = f(x)
            return x
        return forward

    size = len(functions) // segments
    for i in range(segments - 1):
        input = checkpoint(run(functions[i * size:(i + 1) * size]), input, use_reentrant=use_reentrant, **kwargs)
    return run(functions[(segments - 1) * size:])(input)
