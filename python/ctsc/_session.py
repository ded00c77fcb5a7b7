# SPDX-License-Identifier: Apache-2.0
"""_session.py - InferenceSession: ONNX Runtime's way to run a model, on archives of TorchScript."""
from . import _C
from ._module import load



class NodeArg:
    """An input or output: its name; shape and type are not known before a call."""

    def __init__(self, name, type):
        self.name, self.type, self.shape = name, type, None

    def __repr__(self):
        return "NodeArg(name=%r, type=%r)" % (self.name, self.type)


class InferenceSession:
    """session.run(None, {"x": array}) gives a list of arrays."""

    def __init__(self, path_or_bytes, sess_options=None, providers=None, method="forward", **unused):
        self.module, self._method = load(path_or_bytes), method
        arguments, results = self.module.signature(method)
        self._inputs = [NodeArg(name, kind) for name, kind, _ in arguments]
        self._required = [name for name, _, default in arguments if default is Ellipsis]
        self._results = results

    def get_inputs(self):
        return list(self._inputs)

    def get_outputs(self):
        return [NodeArg(name or "output_%d" % i, kind) for i, (name, kind, _) in enumerate(self._results)]

    def get_providers(self):
        return ["CPUExecutionProvider"]

    def run(self, output_names, input_feed, run_options=None):
        known = [a.name for a in self._inputs]
        wrong = [name for name in input_feed if name not in known]
        missing = [name for name in self._required if name not in input_feed]
        if wrong or missing:
            raise ValueError("Required inputs (%s) are missing from input feed (%s)." % (missing, list(input_feed)) if missing
                             else "Invalid input name: %s" % wrong[0])
        result = getattr(self.module, self._method)(**input_feed)
        outputs = list(result) if isinstance(result, (tuple, list)) else list(result.values()) if isinstance(result, dict) else [result]
        arrays = [o.numpy() if isinstance(o, _C.Tensor) else o for o in outputs]
        if output_names is None:
            return arrays
        names = list(result) if isinstance(result, dict) else [a.name for a in self.get_outputs()]
        unknown = [n for n in output_names if n not in names]
        if unknown:
            raise ValueError("Invalid output name: %s" % unknown[0])
        return [arrays[names.index(n)] for n in output_names]
