# SPDX-License-Identifier: Apache-2.0
# lazy_more.py - printed as the layers that they become, of size 0.
import ctsc as torch


def _extra_repr(self):
    args, kwargs = self._given
    if self.cls_to_become.__name__ == 'Linear':
        given = dict(zip(('out_features', 'bias'), args), **kwargs)
        return 'in_features=0, out_features={}, bias={}'.format(given['out_features'], given.get('bias', True))
    with torch.random.fork_rng(): # numbers are not missed
        made = self.cls_to_become(kwargs.get('groups', args[5] if len(args) > 5 else 1), *args, **kwargs)
    setattr(made, 'in_channels' if hasattr(made, 'in_channels') else 'num_features', 0)
    return made.extra_repr()


LazyModuleMixin.extra_repr = _extra_repr
