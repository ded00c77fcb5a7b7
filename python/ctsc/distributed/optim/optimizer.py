# SPDX-License-Identifier: Apache-2.0
"""optimizer.py - DistributedOptimizer: optimisers on the workers that have the parameters, which step with the gradients of a context of distributed autograd."""
from .. import autograd


class _Local:
    """The optimiser of one worker."""

    def __init__(self, optim_class, refs, args, kwargs):
        self.params = [r.local_value() for r in refs]
        self.optim = optim_class(self.params, *args, **kwargs)

    def step(self, context_id):
        grads = autograd.get_gradients(context_id)
        kept = [p.grad for p in self.params]
        for p in self.params:
            p.grad = grads.get(p)
        try:
            self.optim.step()
        finally:
            for p, g in zip(self.params, kept):
                p.grad = g


class DistributedOptimizer:
    def __init__(self, optimizer_class, params_rref, *args, **kwargs):
        from .. import rpc
        of = {}
        for ref in params_rref:
            of.setdefault(ref.owner().id, []).append(ref)
        self.is_functional_optim = False
        made = [rpc.rpc_async(worker, _make, args=(optimizer_class, refs, args, kwargs)) for worker, refs in of.items()]
        self.remote_optimizers = [m.wait() for m in made]

    def step(self, context_id):
        from .. import rpc
        autograd._context(context_id)
        for f in [rpc.rpc_async(r.owner(), _step, args=(r, context_id)) for r in self.remote_optimizers]:
            f.wait()


def _make(optim_class, refs, args, kwargs):
    from .. import rpc
    return rpc.RRef(_Local(optim_class, refs, args, kwargs))


def _step(ref, context_id):
    ref.local_value().step(context_id)


DistributedOptimizer.__module__ = "torch.distributed.optim.optimizer"
