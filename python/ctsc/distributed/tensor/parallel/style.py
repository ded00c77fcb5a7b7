# SPDX-License-Identifier: Apache-2.0
"""style.py - how a module is spread: where its parameters are, what its inputs become and its outputs."""
from ctsc import _C, nn

from .._api import DTensor, distribute_module, distribute_tensor
from ..placement_types import Placement, Replicate, Shard

Tensor = _C.Tensor


class ParallelStyle:
    src_data_rank = 0

    def _apply(self, module, device_mesh):
        raise NotImplementedError

    def _spread(self, module, name, mesh, placements):
        p = module._parameters.get(name)
        if p is not None:
            module.register_parameter(name, nn.Parameter(distribute_tensor(p, mesh, placements, src_data_rank=self.src_data_rank), p.requires_grad))


def _as(x, mesh, layout, wanted):
    """A DTensor with the placement wanted, of what has that of layout."""
    if not isinstance(x, DTensor):
        x = DTensor.from_local(x, mesh, [layout], run_check=False)
    return _to(x, [wanted])


def _to(x, placements):
    wanted = tuple(Shard(p.dim + x.dim()) if p.is_shard() and p.dim < 0 else p for p in placements)
    return x if x.placements == wanted else x.redistribute(placements=wanted)


class _Linear(ParallelStyle):
    """What column and row have in common: one input, one output."""

    def __init__(self, input_layouts, output_layouts, use_local_output):
        self.input_layouts, self.output_layouts, self.use_local_output = (input_layouts,), (output_layouts,), use_local_output

    def _apply(self, module, device_mesh):
        def arrives(m, inputs, mesh):
            return (_as(inputs[0], mesh, self.input_layouts[0], self._wanted(m)),) + tuple(inputs[1:])

        def leaves(m, outputs, mesh):
            outputs = _to(outputs, self.output_layouts)
            return outputs.to_local() if self.use_local_output else outputs
        return distribute_module(module, device_mesh, self._partition, arrives, leaves)

    def _partition(self, name, module, mesh):
        rows = self._linear if isinstance(module, nn.Linear) else self._embedding if isinstance(module, nn.Embedding) else None
        if rows is None:
            raise NotImplementedError("%s currently only support nn.Linear and nn.Embedding!" % type(self).__name__)
        for key in list(module._parameters):
            self._spread(module, key, mesh, [rows.get(key, Replicate())])

    def __repr__(self):
        return "%s(input_layouts=%s, output_layouts=%s, use_local_output=%s)" % (type(self).__name__, self.input_layouts, self.output_layouts, self.use_local_output)


class ColwiseParallel(_Linear):
    """Each rank has some of a layer's outputs."""

    _linear, _embedding = {"weight": Shard(0), "bias": Shard(0)}, {"weight": Shard(1)}

    def __init__(self, *, input_layouts=None, output_layouts=None, use_local_output=True):
        super().__init__(input_layouts or Replicate(), output_layouts or Shard(-1), use_local_output)

    def _wanted(self, module):
        return Replicate()


class RowwiseParallel(_Linear):
    """Each rank has some of a layer's inputs."""

    _linear, _embedding = {"weight": Shard(1), "bias": Replicate()}, {"weight": Shard(0)}

    def __init__(self, *, input_layouts=None, output_layouts=None, use_local_output=True):
        super().__init__(input_layouts or Shard(-1), output_layouts or Replicate(), use_local_output)

    def _wanted(self, module):
        return Replicate() if isinstance(module, nn.Embedding) else Shard(-1)


class SequenceParallel(ParallelStyle):
    """The module works on cut sequences; its parameters are whole everywhere."""

    def __init__(self, *, sequence_dim=1, use_local_output=False):
        self.sequence_sharding, self.use_local_output = (Shard(sequence_dim),), use_local_output

    def _apply(self, module, device_mesh):
        def partition(name, m, mesh):
            for key in list(m._parameters):
                self._spread(m, key, mesh, [Replicate()])

        def arrives(m, inputs, mesh):
            if not isinstance(inputs[0], Tensor):
                raise ValueError("expecting input of %s to be a torch.Tensor or DTensor, but got %s" % (m, inputs[0]))
            return (_as(inputs[0], mesh, self.sequence_sharding[0], self.sequence_sharding[0]),) + tuple(inputs[1:])
        return distribute_module(module, device_mesh, partition, arrives, lambda m, outputs, mesh: outputs.to_local() if self.use_local_output else outputs)

    def __repr__(self):
        return "SequenceParallel(sequence_dim=%d, use_local_output=%s)" % (self.sequence_sharding[0].dim, self.use_local_output)


def _tuple(x):
    return None if x is None else (x,) if isinstance(x, Placement) else tuple(x)


def _converted(x, mesh, layout, wanted, local):
    if layout is None or not isinstance(x, Tensor):
        return x
    made = _as(x, mesh, layout, layout if wanted is None else wanted)
    return made.to_local() if local else made


class PrepareModuleInput(ParallelStyle):
    """Inputs become DTensors, and are brought to other placements."""

    def __init__(self, *, input_layouts=None, desired_input_layouts=None, input_kwarg_layouts=None, desired_input_kwarg_layouts=None, use_local_output=False):
        self.input_layouts, self.desired_input_layouts = _tuple(input_layouts), _tuple(desired_input_layouts)
        self.input_kwarg_layouts, self.desired_input_kwarg_layouts = dict(input_kwarg_layouts or {}), dict(desired_input_kwarg_layouts or {})
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise AssertionError("desired module inputs should not be None!")
            if len(self.input_layouts) != len(self.desired_input_layouts):
                raise AssertionError("input_layouts and desired_input_layouts should have same length!")

    def _arrives(self, inputs, kwargs, mesh):
        if self.input_layouts is not None:
            inputs = inputs if isinstance(inputs, tuple) else (inputs,)
            if len(inputs) != len(self.input_layouts):
                raise ValueError("module inputs and input_layouts should have same length!")
            inputs = tuple(_converted(x, mesh, a, b, self.use_local_output) for x, a, b in zip(inputs, self.input_layouts, self.desired_input_layouts))
        for key, layout in self.input_kwarg_layouts.items():
            if key in kwargs:
                kwargs[key] = _converted(kwargs[key], mesh, layout, self.desired_input_kwarg_layouts.get(key), self.use_local_output)
        return inputs, kwargs

    def _apply(self, module, device_mesh):
        module.register_forward_pre_hook(lambda m, inputs, kwargs: self._arrives(inputs, dict(kwargs), device_mesh), with_kwargs=True)
        return module

    def __repr__(self):
        return "PrepareModuleInput(input_layouts=%s, desired_input_layouts=%s, input_kwarg_layouts=%s, desired_input_kwarg_layouts=%s, use_local_output=%s)" % (
            self.input_layouts, self.desired_input_layouts, self.input_kwarg_layouts, self.desired_input_kwarg_layouts, self.use_local_output)


class PrepareModuleOutput(ParallelStyle):
    """Outputs become DTensors, and are brought to other placements."""

    def __init__(self, *, output_layouts, desired_output_layouts, use_local_output=True):
        self.output_layouts, self.desired_output_layouts, self.use_local_output = _tuple(output_layouts), _tuple(desired_output_layouts), use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError("output_layouts and desired_output_layouts should have same length!")

    def _leaves(self, outputs, mesh):
        several = isinstance(outputs, (tuple, list))
        items = tuple(outputs) if several else (outputs,)
        if len(items) != len(self.output_layouts):
            raise ValueError("module outputs and output_layouts should have same length!")
        made = tuple(_converted(x, mesh, a, b, self.use_local_output) for x, a, b in zip(items, self.output_layouts, self.desired_output_layouts))
        return made if several else made[0]

    def _apply(self, module, device_mesh):
        module.register_forward_hook(lambda m, inputs, outputs: self._leaves(outputs, device_mesh))
        return module

    def __repr__(self):
        return "PrepareModuleOutput(output_layouts=%s, desired_output_layouts=%s, use_local_output=%s)" % (self.output_layouts, self.desired_output_layouts, self.use_local_output)


class PrepareModuleInputOutput(ParallelStyle):
    def __init__(self, *, input_layouts=None, desired_input_layouts=None, input_kwarg_layouts=None, desired_input_kwarg_layouts=None, use_local_input=False, output_layouts,
                 desired_output_layouts, use_local_output=True):
        self.prepare_module_input = PrepareModuleInput(input_layouts=input_layouts, desired_input_layouts=desired_input_layouts, input_kwarg_layouts=input_kwarg_layouts,
                                                       desired_input_kwarg_layouts=desired_input_kwarg_layouts, use_local_output=use_local_input)
        self.prepare_module_output = PrepareModuleOutput(output_layouts=output_layouts, desired_output_layouts=desired_output_layouts, use_local_output=use_local_output)

    def _apply(self, module, device_mesh):
        return self.prepare_module_output._apply(self.prepare_module_input._apply(module, device_mesh), device_mesh)
