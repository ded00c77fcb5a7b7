# SPDX-License-Identifier: Apache-2.0
# Derivatives of losses. runtime/autograd/grad_rules.h explains the names of functions and parameters.


# ---- of differences --------------------------------------------------------------------------------


def l1_loss__as(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    return __torch__.operators._reduce(torch.abs(self - target), reduction)


def mse_loss__d_self(grad: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    return torch.mse_loss_backward(grad, self, target, reduction)


def mse_loss__d_target(grad: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    return torch.mse_loss_backward(grad, target, self, reduction)


def smooth_l1_loss__d_self(grad: Tensor, self: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    return torch.smooth_l1_loss_backward(grad, self, target, reduction, beta)


def smooth_l1_loss__d_target(grad: Tensor, self: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    return torch.neg(torch.smooth_l1_loss_backward(grad, self, target, reduction, beta))


def huber_loss__d_self(grad: Tensor, self: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    return torch.huber_loss_backward(grad, self, target, reduction, delta)


def huber_loss__d_target(grad: Tensor, self: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    return torch.neg(torch.huber_loss_backward(grad, self, target, reduction, delta))


# ---- of probabilities ------------------------------------------------------------------------------


def kl_div__as(self: Tensor, target: Tensor, reduction: int, log_target: bool) -> Tensor:
    if log_target:
        loss = torch.exp(target) * (target - self)
    else:
        loss = torch.xlogy(target, target) - target * self
    return __torch__.operators._reduce(loss, reduction)


def binary_cross_entropy__d_self(grad: Tensor, self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int) -> Tensor:
    return torch.binary_cross_entropy_backward(grad, self, target, weight, reduction)


def binary_cross_entropy__d_target(grad: Tensor, self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int) -> Tensor:
    result = grad * torch.neg(torch.logit(self))
    return __torch__.derivatives.losses._weighed(result, weight, target, reduction)


# of an element of the loss, by its weight and by its share in the mean
def _weighed(t: Tensor, weight: Optional[Tensor], target: Tensor, reduction: int) -> Tensor:
    if weight is not None:
        t = t * weight
    if reduction == 1:
        t = t / target.numel()
    return t


def binary_cross_entropy_with_logits__d_self(grad: Tensor, self: Tensor, target: Tensor, weight: Optional[Tensor], pos_weight: Optional[Tensor], reduction: int) -> Tensor:
    s = torch.sigmoid(self)
    if pos_weight is None:
        slope = s - target
    else:
        t = pos_weight * target
        slope = (t + 1 - target) * s - t
    return __torch__.derivatives.losses._weighed(slope * grad, weight, self, reduction)


def binary_cross_entropy_with_logits__d_target(grad: Tensor, self: Tensor, target: Tensor, weight: Optional[Tensor], pos_weight: Optional[Tensor], reduction: int) -> Tensor:
    if pos_weight is None:
        slope = torch.neg(self)
    else:
        slope = torch.log_sigmoid(torch.neg(self)) - pos_weight * torch.log_sigmoid(self)
    return __torch__.derivatives.losses._weighed(slope * grad, weight, target, reduction)


def poisson_nll_loss__as(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    if log_input:
        loss = torch.exp(input) - target * input
    else:
        loss = input - target * torch.log(input + eps)
    if full:
        # Stirling's approximation of log(target!)
        stirling = target * torch.log(target) - target + torch.log(target * 6.2831853071795862) * 0.5
        loss = loss + torch.masked_fill(stirling, torch.le(target, 1), 0)
    return __torch__.operators._reduce(loss, reduction)


# ---- of classes ------------------------------------------------------------------------------------


def nll_loss__as(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int) -> Tensor:
    loss, total = torch.nll_loss_forward(self, target, weight, reduction, ignore_index)
    return loss


def nll_loss2d__as(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int) -> Tensor:
    loss, total = torch.nll_loss2d_forward(self, target, weight, reduction, ignore_index)
    return loss


def nll_loss_forward__d_self(grad0: Tensor, self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int, result1: Tensor) -> Tensor:
    return torch.nll_loss_backward(grad0, self, target, weight, reduction, ignore_index, result1)


def nll_loss2d_forward__d_self(grad0: Tensor, self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int, result1: Tensor) -> Tensor:
    return torch.nll_loss2d_backward(grad0, self, target, weight, reduction, ignore_index, result1)


def nll_loss_nd__as(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int) -> Tensor:
    if self.dim() < 1:
        torch.ops.ctsc.fail("Expected 1 or more dimensions (got {})".format(self.dim()))
    if self.dim() != 1 and self.size(0) != target.size(0):
        torch.ops.ctsc.fail("Expected input batch_size ({}) to match target batch_size ({}).".format(self.size(0), target.size(0)))
    if self.dim() <= 2:
        return torch.nll_loss(self, target, weight, reduction, ignore_index)
    if self.dim() == 4:
        return torch.nll_loss2d(self, target, weight, reduction, ignore_index)
    places = self.size()
    places.pop(1)
    if target.size() != places:
        torch.ops.ctsc.fail("Expected target size {}, got {}".format(places, target.size()))
    x = torch.reshape(self, [self.size(0), self.size(1), 1, -1]) if self.numel() > 0 else torch.reshape(self, [self.size(0), self.size(1), 0, 0])
    at = torch.reshape(target, [self.size(0), 1, -1]) if self.numel() > 0 else torch.reshape(target, [self.size(0), 0, 0])
    loss = torch.nll_loss2d(x, at, weight, reduction, ignore_index)
    if reduction == 0:
        loss = torch.reshape(loss, places)
    return loss


# targets are probabilities
def _cross_entropy_soft(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, label_smoothing: float, channel: int) -> Tensor:
    classes = self.size(channel)
    shares = target
    if label_smoothing > 0.:
        shares = target * (1. - label_smoothing) + label_smoothing / classes
    products = torch.log_softmax(self, channel, None) * shares
    if weight is not None:
        products = products * torch.reshape(weight, __torch__.operators.device._along(self.dim(), channel))
    if reduction == 0:
        return torch.neg(torch.sum(products, [channel]))
    loss = torch.neg(torch.sum(products))
    if reduction == 1:
        loss = loss / (self.numel() // max(classes, 1))
    return loss


def cross_entropy_loss__as(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int, label_smoothing: float) -> Tensor:
    channel = 0 if self.dim() == 1 else 1
    if label_smoothing < 0. or label_smoothing > 1.:
        torch.ops.ctsc.fail("label_smoothing must be between 0.0 and 1.0. Got: {}".format(label_smoothing))
    if self.size() == target.size():
        if not torch.is_floating_point(target):
            torch.ops.ctsc.fail("Expected floating point type for target with class probabilities, got {}".format(torch.ops.ctsc.type_name(target)))
        if ignore_index >= 0:
            torch.ops.ctsc.fail("ignore_index is not supported for floating point target")
        return __torch__.derivatives.losses._cross_entropy_soft(self, target, weight, reduction, label_smoothing, channel)
    logs = torch.log_softmax(self, channel, None)
    loss = torch.nll_loss_nd(logs, target, weight, reduction, ignore_index)
    if label_smoothing <= 0.:
        return loss
    products = logs
    if weight is not None:
        products = logs * torch.reshape(weight, __torch__.operators.device._along(self.dim(), channel))
    ignored = torch.eq(target, ignore_index)
    smooth = torch.masked_fill(torch.neg(torch.sum(products, [channel])), ignored, 0)
    if reduction != 0:
        smooth = torch.sum(smooth)
        if reduction == 1:
            kept = torch.logical_not(ignored)
            if weight is None:
                smooth = smooth / torch.sum(kept)
            else:
                smooth = smooth / torch.sum(torch.index_select(weight, 0, torch.masked_select(target, kept)))
    return loss * (1. - label_smoothing) + smooth * (label_smoothing / self.size(channel))


def multi_margin_loss__d_self(grad: Tensor, self: Tensor, target: Tensor, p: number, margin: number, weight: Optional[Tensor], reduction: int) -> Tensor:
    return torch.multi_margin_loss_backward(grad, self, target, p, margin, weight, reduction)


def multilabel_margin_loss__as(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    loss, is_target = torch.multilabel_margin_loss_forward(self, target, reduction)
    return loss


def multilabel_margin_loss_forward__d_self(grad0: Tensor, self: Tensor, target: Tensor, reduction: int, result1: Tensor) -> Tensor:
    return torch.multilabel_margin_loss_backward(grad0, self, target, reduction, result1)


def soft_margin_loss__d_self(grad: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    return torch.soft_margin_loss_backward(grad, self, target, reduction)


# ---- connectionist temporal classification ---------------------------------------------------------


def _ctc_loss__d_log_probs(grad0: Tensor, log_probs: Tensor, targets: Tensor, input_lengths: List[int], target_lengths: List[int], result0: Tensor, result1: Tensor, blank: int, zero_infinity: bool) -> Tensor:
    return torch._ctc_loss_backward(grad0, log_probs, targets, input_lengths, target_lengths, torch.detach(result0), torch.detach(result1), blank, zero_infinity)


def _ctc_loss__Tensor__d_log_probs(grad0: Tensor, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, result0: Tensor, result1: Tensor, blank: int, zero_infinity: bool) -> Tensor:
    return torch._ctc_loss_backward(grad0, log_probs, targets, input_lengths, target_lengths, torch.detach(result0), torch.detach(result1), blank, zero_infinity)


def _refuse() -> Tuple[Optional[Tensor], Optional[Tensor]]:
    torch.ops.ctsc.fail("the derivative for '_ctc_loss_backward' is not implemented.")
    return None, None


def _ctc_loss_backward__d_grad__log_probs(blank: int) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    a, b = __torch__.derivatives.losses._refuse()
    return a, b


def _ctc_loss_backward__Tensor__d_grad__log_probs(blank: int) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    a, b = __torch__.derivatives.losses._refuse()
    return a, b


def _ctc_reduced(loss: Tensor, target_lengths: Tensor, reduction: int, zero_infinity: bool) -> Tensor:
    if zero_infinity:
        loss = torch.where(torch.eq(loss, inf), torch.zeros_like(loss), loss)
    if reduction == 1:
        return torch.mean(loss / torch.to(torch.clamp_min(target_lengths, 1), loss.dtype))
    if reduction == 2:
        return torch.sum(loss)
    return loss


def ctc_loss__IntList__as(log_probs: Tensor, targets: Tensor, input_lengths: List[int], target_lengths: List[int], blank: int, reduction: int, zero_infinity: bool) -> Tensor:
    ends = torch.tensor(input_lengths, dtype=4, device=log_probs.device)
    lengths = torch.tensor(target_lengths, dtype=4, device=log_probs.device)
    return torch.ctc_loss(log_probs, targets, ends, lengths, blank, reduction, zero_infinity)


# without a batch: [time, labels], and targets of one dim
def ctc_loss__Tensor__as(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int, reduction: int, zero_infinity: bool) -> Tensor:
    batched = log_probs.dim() == 3
    logs = log_probs if batched else torch.unsqueeze(log_probs, 1)
    labels = targets if batched else torch.unsqueeze(targets, 0)
    ends = torch.reshape(torch.to(input_lengths, 4), [-1])
    lengths = torch.reshape(torch.to(target_lengths, 4), [-1])
    loss, alpha = torch._ctc_loss(logs, labels, ends, lengths, blank, zero_infinity)
    loss = __torch__.derivatives.losses._ctc_reduced(loss, lengths, reduction, zero_infinity)
    if reduction == 0 and not batched:
        loss = torch.squeeze(loss, 0)
    return loss
