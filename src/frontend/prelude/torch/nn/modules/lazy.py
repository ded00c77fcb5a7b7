# SPDX-License-Identifier: Apache-2.0
# lazy.py - layers that learn their first size from the first input, or from a state_dict, and are plain layers from then on.
from torch import nn

from .module import Module


class LazyModuleMixin(Module):
    cls_to_become = None

    def __init__(self, *args, **kwargs):
        super().__init__()
        if self.cls_to_become.__name__.startswith('Instance'):  # with other defaults than the layer's own
            named = dict(zip(('eps', 'momentum', 'affine', 'track_running_stats'), args), **kwargs)
            args, kwargs = (), {'affine': True, 'track_running_stats': True, **named}
        self._given = (args, kwargs)

    def has_uninitialized_params(self):
        return True

    def _become(self, size):
        args, kwargs = self._given
        kept = {k: v for k, v in self.__dict__.items() if k.endswith('_hooks')}
        training = self.training
        del self._given
        self.__class__ = self.cls_to_become
        self.__init__(size, *args, **kwargs)
        self.__dict__.update(kept)
        self.train(training)

    def initialize_parameters(self, input):
        # Without a batch's dimension where a convolution's or an instance norm's input may lack it.
        name = self.cls_to_become.__name__
        batched = input.dim() == int(name[-2]) + 2 if name.startswith(('Conv', 'Instance')) else True
        self._become(input.shape[-1 if name == 'Linear' else 1 if batched else 0])

    def __call__(self, *args, **kwargs):
        self.initialize_parameters(*args, **kwargs)
        return self(*args, **kwargs)

    def forward(self, input):
        raise RuntimeError('a lazy layer has no parameters yet: call the module once, or give weights')

    def _load_from_state_dict(self, state_dict, prefix, *args):
        name = self.cls_to_become.__name__
        weight = state_dict.get(prefix + 'weight', state_dict.get(prefix + 'running_mean'))
        if weight is not None:
            size = weight.shape[0 if weight.dim() == 1 or name.startswith('ConvTranspose') else 1]
            if name.startswith('Conv') and not name.startswith('ConvT'):
                given, named = self._given
                size *= given[5] if len(given) > 5 else named.get('groups', 1)
            self._become(size)
        self._load_from_state_dict(state_dict, prefix, *args)


def __getattr__(name):
    plain = getattr(nn, name[4:]) if name.startswith('Lazy') else None
    if plain is None:
        raise AttributeError("module '{}' has no attribute '{}'".format(__name__, name))
    made = type(name, (LazyModuleMixin,), {'cls_to_become': plain, '__module__': __name__, '__doc__': '{} whose sizes the first input decides.'.format(name[4:])})
    globals()[name] = made
    return made
