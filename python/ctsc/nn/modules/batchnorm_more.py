# SPDX-License-Identifier: Apache-2.0
# batchnorm_more.py - printed as today's PyTorch prints it.
def _extra_repr(self):
    return '{}, eps={}, momentum={}, affine={}, bias={}, track_running_stats={}'.format(
        self.num_features, self.eps, self.momentum, self.affine, self.bias is not None, self.track_running_stats)


_BatchNorm.extra_repr = _extra_repr
