# SPDX-License-Identifier: Apache-2.0
# normalization_more.py - printed as today's PyTorch prints it.
def _extra_repr(self):
    return '{}, eps={}, elementwise_affine={}, bias={}'.format(self.normalized_shape, self.eps, self.elementwise_affine, self.bias is not None)


LayerNorm.extra_repr = _extra_repr


def _extra_repr(self):
    return '{}, {}, eps={}, affine={}, bias={}'.format(self.num_groups, self.num_channels, self.eps, self.affine, self.bias is not None)


GroupNorm.extra_repr = _extra_repr
