# SPDX-License-Identifier: Apache-2.0
# fusion.py - batch normalisation folded into the layer before it.
import copy

import torch

from ..parameter import Parameter


def fuse_conv_bn_eval(conv, bn, transpose=False):
    assert not (conv.training or bn.training), 'Fusion only for eval!'
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps,
                                                    bn.weight, bn.bias, transpose)
    return fused


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    if conv_b is None:
        conv_b = torch.zeros_like(bn_rm)
    if bn_w is None:
        bn_w = torch.ones_like(bn_rm)
    if bn_b is None:
        bn_b = torch.zeros_like(bn_rm)
    with torch.no_grad():
        scale = bn_w * torch.rsqrt(bn_rv + bn_eps)
        shape = ([1, -1] if transpose else [-1, 1]) + [1] * (conv_w.dim() - 2)
        return Parameter(conv_w * scale.reshape(shape)), Parameter((conv_b - bn_rm) * scale + bn_b)


def fuse_linear_bn_eval(linear, bn):
    assert not (linear.training or bn.training), 'Fusion only for eval!'
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps,
                                                      bn.weight, bn.bias)
    return fused


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    if linear_b is None:
        linear_b = torch.zeros_like(bn_rm)
    with torch.no_grad():
        scale = bn_w * torch.rsqrt(bn_rv + bn_eps)
        return Parameter(linear_w * scale.unsqueeze(-1)), Parameter((linear_b - bn_rm) * scale + bn_b)
