# SPDX-License-Identifier: Apache-2.0
# lr_scheduler.py - torch.optim.lr_scheduler, for files that build a schedule beside their model.


class LRScheduler:
    def __init__(self, optimizer, *args, **kwargs):
        self.optimizer = optimizer
        self.last_epoch = 0

    def get_last_lr(self):
        return [group['lr'] for group in self.optimizer.param_groups]

    def state_dict(self):
        return {'last_epoch': self.last_epoch}

    def load_state_dict(self, state_dict):
        pass

    def step(self, *args):
        raise NotImplementedError('a step of {} is not available while a program is being compiled'.format(
            type(self).__name__))


class ChainedScheduler(LRScheduler):
    pass


class ConstantLR(LRScheduler):
    pass


class CosineAnnealingLR(LRScheduler):
    pass


class CosineAnnealingWarmRestarts(LRScheduler):
    pass


class CyclicLR(LRScheduler):
    pass


class ExponentialLR(LRScheduler):
    pass


class LambdaLR(LRScheduler):
    pass


class LinearLR(LRScheduler):
    pass


class MultiStepLR(LRScheduler):
    pass


class MultiplicativeLR(LRScheduler):
    pass


class OneCycleLR(LRScheduler):
    pass


class PolynomialLR(LRScheduler):
    pass


class ReduceLROnPlateau(LRScheduler):
    pass


class SequentialLR(LRScheduler):
    pass


class StepLR(LRScheduler):
    pass


_LRScheduler = LRScheduler
