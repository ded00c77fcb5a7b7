# SPDX-License-Identifier: Apache-2.0
# __init___more.py - layers and places of today's PyTorch's that scripts do not know.
from .. import _nn_support

class LinearCrossEntropyOptions:
    def __init__(self, allow_retain_graph=False, batch_chunk_size=None, chunking_method='auto', acc_policy='auto', acc_dtype=None):
        self.allow_retain_graph, self.batch_chunk_size, self.chunking_method = allow_retain_graph, batch_chunk_size, chunking_method
        self.acc_policy, self.acc_dtype = acc_policy, acc_dtype


_submodules += ('parallel', 'attention', 'grad', 'quantizable', 'qat', 'intrinsic')
__all__.append('DataParallel')
_of_modules = __getattr__


def __dir__():
    return sorted(set(__all__) | set(_submodules) | {'LinearCrossEntropyLoss', 'LinearCrossEntropyOptions', 'UninitializedBuffer', 'UninitializedParameter', 'factory_kwargs'})


def __getattr__(name):
    if name in ('UninitializedParameter', 'UninitializedBuffer'):
        return getattr(importlib.import_module(__name__ + '.parameter'), name)
    if name == 'LinearCrossEntropyLoss':
        return importlib.import_module(__name__ + '._recent').LinearCrossEntropyLoss
    return importlib.import_module(__name__ + '.parallel').DataParallel if name == 'DataParallel' else _of_modules(name)
