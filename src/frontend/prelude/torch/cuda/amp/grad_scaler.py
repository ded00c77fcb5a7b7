# SPDX-License-Identifier: Apache-2.0
# torch.cuda.amp.grad_scaler - a scaler of gradients: nothing is scaled here.


class GradScaler:
    def __init__(self, *args, **kwargs):
        self._enabled = False

    def is_enabled(self):
        return False

    def scale(self, outputs):
        return outputs
