# SPDX-License-Identifier: Apache-2.0
"""_session.py - InferenceSession: ONNX Runtime's way to run a model, on archives of TorchScript."""
from . import _C
from ._module import load

# Where ONNX Runtime's names are not ours.
_NAMES = {"float32": "float", "float64": "double"}


class NodeArg:
    """An input or output. Programs of torch.export and ONNX say its type and shape, with None for sizes that may differ; others say neither before a call."""

    def __init__(self, name, kind, dtype=None, shape=None):
        said = dtype and str(dtype).rpartition(".")[2]
        self.name, self.type, self.shape = name, "tensor(%s)" % _NAMES.get(said, said) if said else kind, shape

    def __repr__(self):
        return "NodeArg(name=%r, type=%r, shape=%r)" % (self.name, self.type, self.shape)


class InferenceSession:
    """session.run(None, {"x": array}) gives a list of arrays."""

    def __init__(self, path_or_bytes, sess_options=None, providers=None, method="forward", **unused):
        self.module, self._method = load(path_or_bytes), method
        arguments, results = self.module.signature(method)
        inputs, outputs = self.module._ports(method)
        self._inputs = [NodeArg(said[0], kind, *said[1:]) for said, (_, kind, _) in zip(inputs, arguments)]
        self._arguments = {said[0]: name for said, (name, _, _) in zip(inputs, arguments)}
        self._required = [said[0] for said, (_, _, default) in zip(inputs, arguments) if default is Ellipsis]
        if len(outputs) == len(results):
            self._outputs = [NodeArg(said[0] or "output_%d" % i, kind, *said[1:]) for i, (said, (_, kind, _)) in enumerate(zip(outputs, results))]
        else:
            self._outputs = [NodeArg(name or "output_%d" % i, kind) for i, (name, kind, _) in enumerate(results)]

    def get_inputs(self):
        return list(self._inputs)

    def get_outputs(self):
        return list(self._outputs)

    def get_providers(self):
        return ["CPUExecutionProvider"]

    def run(self, output_names, input_feed, run_options=None):
        known = [a.name for a in self._inputs]
        wrong = [name for name in input_feed if name not in known]
        missing = [name for name in self._required if name not in input_feed]
        if wrong or missing:
            raise ValueError("Required inputs (%s) are missing from input feed (%s)." % (missing, list(input_feed)) if missing
                             else "Invalid input name: %s" % wrong[0])
        result = getattr(self.module, self._method)(**{self._arguments[name]: x for name, x in input_feed.items()})
        outputs = list(result) if isinstance(result, (tuple, list)) else list(result.values()) if isinstance(result, dict) else [result]
        arrays = [o.numpy() if isinstance(o, _C.Tensor) else o for o in outputs]
        if output_names is None:
            return arrays
        names = list(result) if isinstance(result, dict) else [a.name for a in self.get_outputs()]
        unknown = [n for n in output_names if n not in names]
        if unknown:
            raise ValueError("Invalid output name: %s" % unknown[0])
        return [arrays[names.index(n)] for n in output_names]
