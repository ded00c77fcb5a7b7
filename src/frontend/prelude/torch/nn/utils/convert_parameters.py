# SPDX-License-Identifier: Apache-2.0
# convert_parameters.py - parameters as one vector, and back.
import torch


def parameters_to_vector(parameters):
    return torch.cat([param.view(-1) for param in parameters])


def vector_to_parameters(vec, parameters):
    if not isinstance(vec, torch.Tensor):
        raise TypeError('expected torch.Tensor, but got: {}'.format(type(vec).__name__))
    start = 0
    for param in parameters:
        with torch.no_grad():
            param.copy_(vec[start:start + param.numel()].view_as(param))
        start += param.numel()
