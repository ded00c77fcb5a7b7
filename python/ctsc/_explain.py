# SPDX-License-Identifier: Apache-2.0
"""_explain.py - what becomes of a function that is compiled or traced."""
import warnings

from ._hooks import TracerWarning
from ._script import script
from ._trace import trace


class Explanation:
    """What becomes of a function: can it be compiled, what a trace would miss, what runs."""

    def __init__(self):
        self.script_error, self.trace_error, self.warnings, self.graph, self.operators = None, None, [], None, []

    def __repr__(self):
        lines = ["script: %s" % ("can be compiled" if self.script_error is None else str(self.script_error).strip())]
        if self.trace_error is not None:
            lines.append("trace: %s" % str(self.trace_error).strip())
        elif self.graph is not None:
            lines.append("trace: %d operators%s" % (len(self.operators), "" if not self.warnings else ", which may be wrong for other inputs:"))
        lines += ["  %s:%d: %s" % w for w in self.warnings]
        return "\n".join(lines)


def explain(func, *args):
    """Compiles func, and traces it if there are arguments; tells what fails, and where values decide what is recorded."""
    found = Explanation()
    try:
        m = script(func)
        found.graph = m.graph
    except Exception as e:
        found.script_error = e
    if args:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", TracerWarning)
            try:
                m = trace(func, args, check_trace=False)
                found.graph, found.operators = m.graph, m.operators()
            except Exception as e:
                found.trace_error = e
        found.warnings = [(w.filename, w.lineno, str(w.message).split(". ")[0]) for w in caught if issubclass(w.category, TracerWarning)]
    return found
