# SPDX-License-Identifier: Apache-2.0
"""return_types.py - torch.return_types: the classes of results with names, by the name of the operator."""
import re


def __getattr__(name):
    from ._errors import family
    from ._hooks import result_class
    for _, schema, _ in family("aten::" + name) if not name.startswith("__") else ():
        fields = re.findall(r"Tensor(?:\(\w+!?\))? (\w+)", schema.rpartition("->")[2])
        if len(fields) > 1:
            return result_class(name, " ".join(fields))
    raise AttributeError("module 'ctsc.return_types' has no attribute '%s'" % name)
