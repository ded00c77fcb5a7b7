# SPDX-License-Identifier: Apache-2.0
# __init__.py - torch.optim, for files that build an optimiser beside their model: it knows its
# parameters, and takes no step (ctsc train does).
from . import lr_scheduler


class Optimizer:
    def __init__(self, params, defaults):
        self.defaults = defaults
        self.state = {}
        self.param_groups = []
        params = list(params)
        if len(params) == 0:
            raise ValueError('optimizer got an empty parameter list')
        for group in params if isinstance(params[0], dict) else [{'params': params}]:
            self.add_param_group(group)

    def add_param_group(self, param_group):
        group = dict(self.defaults)
        group.update(param_group)
        given = group['params']
        group['params'] = list(given) if isinstance(given, (list, tuple)) or hasattr(given, '__iter__') else [given]
        self.param_groups.append(group)

    def zero_grad(self, set_to_none=True):
        pass

    def state_dict(self):
        return {'state': {}, 'param_groups': [{k: v for k, v in g.items() if k != 'params'} for g in self.param_groups]}

    def load_state_dict(self, state_dict):
        pass

    def step(self, closure=None):
        raise NotImplementedError('a step of {} is not available while a program is being compiled'.format(
            type(self).__name__))


class _Usual(Optimizer):
    def __init__(self, params, lr=1e-3, *args, **kwargs):
        super().__init__(params, dict(kwargs, lr=lr))


class ASGD(_Usual):
    pass


class Adadelta(_Usual):
    pass


class Adafactor(_Usual):
    pass


class Adagrad(_Usual):
    pass


class Adam(_Usual):
    pass


class AdamW(_Usual):
    pass


class Adamax(_Usual):
    pass


class LBFGS(_Usual):
    pass


class Muon(_Usual):
    pass


class NAdam(_Usual):
    pass


class RAdam(_Usual):
    pass


class RMSprop(_Usual):
    pass


class Rprop(_Usual):
    pass


class SGD(_Usual):
    pass


class SparseAdam(_Usual):
    pass
