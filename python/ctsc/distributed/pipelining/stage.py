# SPDX-License-Identifier: Apache-2.0
"""stage.py - PipelineStage: one part of a network, its neighbours, and what it keeps of each part of a batch until that comes back.

Shapes are sent before the first part of a step. Sends do not wait: schedules end them when the step ends."""
from ctsc import _C
from ctsc.autograd import backward as _backward

from .. import _objects
from .. import distributed_c10d as dist

Tensor = _C.Tensor


class PipelineStage:
    def __init__(self, submodule, stage_index, num_stages, device="cpu", input_args=None, output_args=None, output_grads=None, group=None, dw_builder=None, get_mesh=None):
        if stage_index >= num_stages:
            raise ValueError("Stage index %d is out of range of %d" % (stage_index, num_stages))
        self.submod, self.stage_index, self.num_stages, self.device = submodule, stage_index, num_stages, device
        self.group = dist._group_or_default(group)
        self.group_rank, self.group_size = self.group.rank(), self.group.size()
        if self.group_size > num_stages:
            raise RuntimeError("Pipeline group size %d cannot be larger than number of stages %d" % (self.group_size, num_stages))
        self.clear()

    is_first = property(lambda self: self.stage_index == 0)
    is_last = property(lambda self: self.stage_index == self.num_stages - 1)
    has_backward = True

    def clear(self):
        self.inputs, self.outputs, self.works, self.shapes = {}, {}, [], None

    def rank_of(self, stage):
        return stage % self.group_size

    def _tag(self, stage, part, index, backward):
        """Of a tensor that leaves a stage; what is on one rank has tags of its own."""
        return ((part * self.num_stages + stage) * 16 + index) * 2 + backward

    def _send(self, tensors, stage, part, backward):
        for i, t in enumerate(tensors):
            self.works.append(dist.isend(t.detach().contiguous(), group=self.group, group_dst=self.rank_of(stage), tag=self._tag(self.stage_index, part, i, backward)))

    def _receive(self, shapes, stage, part, backward):
        from ctsc import empty
        made = [empty(s, dtype=d) for s, d in shapes]
        for w in [dist.irecv(t, group=self.group, group_src=self.rank_of(stage), tag=self._tag(stage, part, i, backward)) for i, t in enumerate(made)]:
            w.wait()
        return made

    def forward(self, part, args, kwargs, local):
        """local: results of stages of this rank, by (stage, part)."""
        if self.is_first:
            inputs = list(args)
        elif self.rank_of(self.stage_index - 1) == self.group_rank:
            inputs = [_apart(t) for t in local.pop((self.stage_index - 1, part, False))]
        else:
            if self.shapes is None:
                held = [None]
                _objects.recv_object_list(held, group=self.group, group_src=self.rank_of(self.stage_index - 1))
                self.shapes = held[0]
            inputs = [_apart(t) for t in self._receive(self.shapes, self.stage_index - 1, part, False)]
        out = self.submod(*inputs, **kwargs)
        outputs = list(out) if isinstance(out, (tuple, list)) else [out]
        self.inputs[part], self.outputs[part] = inputs, outputs
        if not self.is_last:
            self._forwarded(outputs, part, local)
        return out

    def _forwarded(self, outputs, part, local):
        following = self.stage_index + 1
        if self.rank_of(following) == self.group_rank:
            local[(self.stage_index, part, False)] = outputs
            return
        if part == 0:
            _objects.send_object_list([[(tuple(t.shape), t.dtype) for t in outputs]], group=self.group, group_dst=self.rank_of(following))
        self._send(outputs, following, part, False)

    def backward(self, part, loss, local):
        """loss: of the last stage."""
        inputs, outputs = self.inputs.pop(part), self.outputs.pop(part)
        if loss is not None:
            loss.backward()
        else:
            if self.rank_of(self.stage_index + 1) == self.group_rank:
                grads = local.pop((self.stage_index + 1, part, True))
            else:
                grads = self._receive([(tuple(t.shape), t.dtype) for t in outputs if t.dtype.is_floating_point], self.stage_index + 1, part, True)
            roots = [(t, g) for t, g in zip([t for t in outputs if t.dtype.is_floating_point], grads) if t.requires_grad]
            if roots:
                _backward([t for t, _ in roots], [g for _, g in roots])
        if self.is_first:
            return
        back = [t.grad if t.grad is not None else t.detach() * 0 for t in inputs if isinstance(t, Tensor) and t.dtype.is_floating_point]
        if self.rank_of(self.stage_index - 1) == self.group_rank:
            local[(self.stage_index, part, True)] = back
        else:
            self._send(back, self.stage_index - 1, part, True)

    def finish(self):
        for w in self.works:
            w.wait()
        self.clear()

    def scale_grads(self, divisor):
        for p in self.submod.parameters():
            if p.grad is not None:
                p.grad.div_(divisor)


def _apart(t):
    t = t.detach()
    return t.requires_grad_() if t.dtype.is_floating_point else t
