# SPDX-License-Identifier: Apache-2.0
"""grad.py - torch.nn.grad: gradients of convolutions, by what they are of."""
import ctsc


def _tuple(v, n):
    return [v] * n if isinstance(v, int) else list(v)


def _backward(grad_output, input, weight, stride, padding, dilation, groups, wanted):
    n = weight.ndim - 2
    return ctsc.ops.aten.convolution_backward(grad_output, input, weight, None, _tuple(stride, n), _tuple(padding, n), _tuple(dilation, n), False, [0] * n, groups, wanted)


def _of_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    return _backward(grad_output, grad_output.new_empty(1).expand(input_size), weight, stride, padding, dilation, groups, [True, False, False])[0]


def _of_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    return _backward(grad_output, input, grad_output.new_empty(1).expand(weight_size), stride, padding, dilation, groups, [False, True, False])[1]


conv1d_input = conv2d_input = conv3d_input = _of_input
conv1d_weight = conv2d_weight = conv3d_weight = _of_weight
