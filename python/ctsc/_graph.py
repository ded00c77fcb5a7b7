# SPDX-License-Identifier: Apache-2.0
"""_graph.py - the text of a graph, which notebooks draw: a row per node, in order, with an arc from where each value is made to where it is used."""
import html
import re

_NODE = re.compile(r"^(\s*)(?:(%.*?) = )?([\w]+::\w+)(?:\[[^\]]*\])?\((.*?)\)(?:, scope:.*|\s*#.*)?$")
_HEAD = re.compile(r"^\s*(graph|block\d+)\((.*?)\):?$")
_VALUE = re.compile(r"%([\w.]+)")
_ROW, _INDENT, _MOST = 18, 14, 2000 # pixels of a row and of a block; rows drawn


class Graph(str):
    """A string; _repr_svg_ is its drawing."""

    def _rows(self):
        """(depth, text, values made, values used) of each line that is a node, or begins or ends a block."""
        for line in self.split("\n"):
            node, head = _NODE.match(line), _HEAD.match(line)
            depth = (len(line) - len(line.lstrip())) // 2
            if node:
                made = _VALUE.findall(node.group(2) or "")
                if node.group(3) == "prim::Constant":
                    continue
                yield depth, "%s%s" % (node.group(3), "  →  " + ", ".join(made) if made else ""), made, _VALUE.findall(node.group(4))
            elif head:
                made = _VALUE.findall(head.group(2))
                yield depth, "%s(%s)" % (head.group(1), ", ".join(made)), made, []
            elif "return (" in line or line.lstrip().startswith("-> ("):
                used = _VALUE.findall(line)
                yield depth, "return %s" % ", ".join(used), [], used

    def _repr_svg_(self):
        rows, at, arcs, texts, width = list(self._rows()), {}, [], [], 0
        if not rows or len(rows) > _MOST:
            return None
        reach = 20
        for i, (depth, text, made, used) in enumerate(rows):
            for name in dict.fromkeys(used):
                if name in at:
                    reach = max(reach, min(200, 6 * (i - at[name]) + 8))
            for name in made:
                at[name] = i
        at = {}
        for i, (depth, text, made, used) in enumerate(rows):
            y = (i + 0.7) * _ROW
            for name in dict.fromkeys(used):
                if name in at:
                    a, bend = (at[name] + 0.7) * _ROW - 4, min(200, 6 * (i - at[name]) + 8)
                    arcs.append('<path d="M%d %.1f C%d %.1f %d %.1f %d %.1f"><title>%s</title></path>' % (
                        reach, a, reach - bend, a, reach - bend, y - 4, reach, y - 4, html.escape(name)))
            for name in made:
                at[name] = i
            x = reach + 6 + depth * _INDENT
            width = max(width, x + 8 * len(text))
            texts.append('<text x="%d" y="%.1f">%s</text>' % (x, y, html.escape(text)))
        return ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="monospace" font-size="12">'
                '<g fill="none" stroke="#7a9cc6" stroke-width="1">%s</g><g>%s</g></svg>' % (width, (len(rows) + 1) * _ROW, "".join(arcs), "".join(texts)))
