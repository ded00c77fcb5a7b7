# SPDX-License-Identifier: Apache-2.0
"""The calls of against_samples.py as programs: written as TorchScript or exported, saved by PyTorch, and run by both from the saved bytes.

The tensors of a call are the program's parameters, all else is written into it. Some programs compute with an argument before the call and with the result
after it, so that there is something to fuse and to lay out. What cannot be scripted or exported is left out.
"""
import io
import math

HEADS = ("", "torch.mul({0}, {0})", "torch.neg({0})", "{0}.t()")
TAILS = ("", "torch.add(y, y)", "torch.relu(y)", "torch.mul(y, 0.5)", "y.contiguous()")
LEVELS = (0, 1, 2, 3)


class Unwritten(Exception):
    pass


def written(v, names):
    """A plain value as an expression; names gets the parameters."""
    kind = v[0]
    if kind == "tensor":
        names.append("a%d" % len(names))
        return names[-1]
    if kind in ("dtype", "memory_format"):
        return "torch." + v[1]
    if kind == "device":
        return "torch.device(%r)" % v[1]
    if kind in ("list", "tuple"):
        parts = [written(x, names) for x in v[1]]
        if kind == "tuple":
            return "(%s,)" % ", ".join(parts) if parts else "()"
        return "[%s]" % ", ".join(parts) if parts else "torch.jit.annotate(List[int], [])"
    if kind == "value":
        x = v[1]
        if isinstance(x, float) and not math.isfinite(x):
            return "float('%s')" % x
        if isinstance(x, complex):
            if not (math.isfinite(x.real) and math.isfinite(x.imag)):
                raise Unwritten
            return "complex(%r, %r)" % (x.real, x.imag)
        if x is None or type(x) in (bool, int, float, str):
            return repr(x)
    raise Unwritten  # slices, Ellipsis


def source(case, rng):
    """The texts to try, the one with the most in it first: (parameters, lines of the body)."""
    names = []
    given = [written(x, names) for x in case["args"][1]]
    named = ["%s=%s" % (k, written(x, names)) for k, x in case["kwargs"][1].items()]
    name = case["name"]
    if case["form"] == "inplace" or name.startswith("__"):
        call = "%s.%s(%s)" % (given[0], name, ", ".join(given[1:] + named))
    else:
        path = name.split(".")
        if path[:3] == ["torch", "ops", "aten"]:
            path = path[:4]  # the arguments tell which overload it is
        elif path[0] != "torch":
            path = ["torch"] + path
        call = "%s(%s)" % (".".join(path), ", ".join(given + named))
    plain = ["y = " + call, "return y"]
    texts = [plain]
    head, tail = rng.choice(HEADS), rng.choice(TAILS)
    if names and (head or tail):
        before = ["%s = %s" % (names[0], head.format(names[0]))] if head else []
        texts.insert(0, before + [plain[0]] + (["z = " + tail, "return (y, z)"] if tail else ["return y"]))
    return names, texts


def scripted(torch, names, lines):
    m = torch.jit.ScriptModule()
    m.define("def forward(%s):\n    %s\n" % (", ".join(["self"] + names), "\n    ".join(lines)))
    data = io.BytesIO()
    torch.jit.save(m, data)
    return data.getvalue()


def exported(torch, names, lines, leaves):
    scope = {"torch": torch, "List": list}
    exec("class M(torch.nn.Module):\n    def forward(%s):\n        %s\n" % (", ".join(["self"] + names), "\n        ".join(lines)), scope)
    data = io.BytesIO()
    torch.export.save(torch.export.export(scope["M"](), tuple(leaves)), data)
    return data.getvalue()


def programs_of(torch, case, rng, form, call, rebuilt):
    """The call as a program, or nothing: PyTorch's own result of the saved bytes is what is wanted."""
    if "error" in case["want"]:
        return None
    try:
        names, texts = source(case, rng)
    except Unwritten:
        return None
    if not names:
        return None
    for lines in texts:
        try:
            if form == "script":
                data = scripted(torch, names, lines)
            else:
                leaves = []
                rebuilt(torch, ("tuple", [case["args"], case["kwargs"]]), leaves)
                data = exported(torch, names, lines, leaves)
        except Exception:
            continue
        made = {**case, "form": form, "archive": data, "text": "; ".join(lines)}
        made["want"] = call(torch, made)
        if "error" not in made["want"]:
            return made
    return None


class Saved:
    """A program in memory, as PyTorch or ctsc runs it."""

    def __init__(self, torch, case):
        data = io.BytesIO(case["archive"])
        if torch.__name__ == "ctsc":
            self.run = torch.jit.load(data)
        else:
            self.run = torch.jit.load(data) if case["form"] == "script" else torch.export.load(data).module()

    def level(self, n):
        self.run.set_opt(n)

    def __call__(self, *leaves):
        return self.run(*leaves)


def answers(torch, case, call):
    """Of ctsc: at each level the last of two calls, each with arguments of its own."""
    try:
        program = Saved(torch, case)
    except Exception as e:
        return {"error": "%s: %s" % (type(e).__name__, str(e).split("\n")[0][:200])}
    found = []
    for level in LEVELS:
        program.level(level)
        call(torch, case, program)
        found.append(call(torch, case, program))
    return {"levels": found}
