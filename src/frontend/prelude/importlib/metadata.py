# SPDX-License-Identifier: Apache-2.0
# metadata.py - importlib.metadata: packages have no versions here, but for ctsc's own torch.


class PackageNotFoundError(ModuleNotFoundError):
    pass


def version(distribution_name):
    if distribution_name == 'torch':
        import torch
        return torch.__version__
    raise PackageNotFoundError("No package metadata was found for " + distribution_name)
