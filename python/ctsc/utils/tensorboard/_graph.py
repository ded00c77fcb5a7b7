# SPDX-License-Identifier: Apache-2.0
"""_graph.py - a traced module as TensorBoard's GraphDef: a node for each input, parameter, operator and result."""
import re

from tensorboard.compat.proto import attr_value_pb2, config_pb2, graph_pb2, node_def_pb2, step_stats_pb2, versions_pb2

_NODE = re.compile(r"^  (?:(?P<out>%.*?) = )?(?P<kind>[\w.]+::\w+)(?:\[(?P<attributes>.*)\])?\((?P<inputs>[^()]*)\)")
_INPUT = re.compile(r"^(?:graph\(|\s+)(%[\w.]+) : ([^,)]*)")


def _node(name, op, inputs=(), text=""):
    return node_def_pb2.NodeDef(name=name, op=op, input=list(inputs), attr={"attr": attr_value_pb2.AttrValue(s=text.encode())})


def graph_def(model, arguments, strict):
    """(GraphDef, RunMetadata) of model called with arguments, of its outermost block."""
    from ... import jit
    traced = model if isinstance(model, jit.ScriptModule) else jit.trace(model, arguments, strict=strict)
    text = str(traced.inlined_graph)
    head, body = text.split("):\n", 1)
    nodes, names = [], {}
    for line in head.split("\n"):
        found = _INPUT.match(line)
        if found and found.group(1) not in names:
            names[found.group(1)] = "input/" + found.group(1)[1:]
            nodes.append(_node(names[found.group(1)], "IO Node", text=found.group(2)))
    for i, line in enumerate(body.split("\n")):
        found = _NODE.match(line)
        if not found:
            continue
        outs = re.findall(r"%[\w.]+", re.sub(r" : [^%]*", " ", found.group("out") or ""))
        name = "%s/%s" % (found.group("kind").replace("::", "/"), outs[0][1:] if outs else i)
        names.update(dict.fromkeys(outs, name))
        inputs = [names[v] for v in re.findall(r"%[\w.]+", found.group("inputs")) if v in names]
        nodes.append(_node(name, found.group("kind"), inputs, "[%s]" % found.group("attributes") if found.group("attributes") else ""))
    for i, value in enumerate(re.findall(r"%[\w.]+", text.rpartition("  return (")[2])):
        nodes.append(_node("output/output.%d" % (i + 1), "IO Node", [names[value]] if value in names else []))
    stats = config_pb2.RunMetadata(step_stats=step_stats_pb2.StepStats(dev_stats=[step_stats_pb2.DeviceStepStats(device="/device:CPU:0")]))
    return graph_pb2.GraphDef(node=nodes, versions=versions_pb2.VersionDef(producer=22)), stats
