# SPDX-License-Identifier: Apache-2.0
"""The cases of against.py: calls of operators, and small programs, as texts that PyTorch and ctsc both run.

A case is a dict: kind ("call", "program"), name (of the operator, or "program"), text. The last line of a call's text is the expression that is asked; that
of a program is a function forward in TorchScript, with the lines that make its arguments in setup. Tensors have nan, infinities, -0.0, denormals, the ends
of integers; are empty, of no dims, transposed, sliced, expanded or offset; dtypes are mixed. No two elements are equal where an order would be asked for.
"""
import random
import re

FLOATS = ["float16", "bfloat16", "float32", "float64"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
COMPLEX = ["complex64", "complex128"]
DTYPES = FLOATS + SIGNED + UNSIGNED + ["bool"] + COMPLEX
OFTEN = ["float16", "bfloat16"] * 4 + ["float32"] * 3 + ["float64", "uint8", "int8", "int64", "int64", "bool", "int32", "int16", "complex64", "uint16", "uint32", "uint64"]
BITS = {"int8": (-128, 127), "int16": (-32768, 32767), "int32": (-2**31, 2**31 - 1), "int64": (-2**63, 2**63 - 1), "uint8": (0, 255), "uint16": (0, 65535), "uint32": (0, 2**32 - 1),
        "uint64": (0, 2**64 - 1)}
SPECIAL = ["nan", "inf", "-inf", "0.0", "-0.0", "1.0", "-1.0", "0.5", "1e-40", "65504.0", "3e38", "-2.5"]
SHAPES = [(), (0,), (1,), (3,), (5,), (2, 3), (2, 3), (3, 3), (0, 3), (1, 3), (3, 1), (2, 2, 2), (2, 1, 3), (17,), (40,)]
NUMBERS = ["2", "-3", "0", "1", "0.5", "-1.5", "1e5", "1e-8", "1.00390625", "3", "7", "0.1", "nan", "inf", "-inf", "300", "True"]

# {x}, {y}, {z}: tensors, {i}: indices, {m}: a mask, {n}: a number, {d}: a dim, {k}: a small count
UNARY = """abs acos acosh asin asinh atan atanh ceil cos cosh digamma erf erfc erfinv exp exp2 expm1 floor frac isfinite isinf isnan isneginf isposinf lgamma log log10 log1p log2
logical_not neg positive rad2deg deg2rad reciprocal round rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc angle bitwise_not i0 nan_to_num real conj
special.ndtr special.entr special.i0e special.log_ndtr special.erfcx""".split()
ACTIVATIONS = "relu relu6 elu selu celu gelu silu mish hardtanh hardsigmoid hardswish softplus softsign tanhshrink softshrink hardshrink logsigmoid leaky_relu".split()
BINARY = """add sub mul div true_divide floor_divide remainder fmod pow atan2 maximum minimum fmax fmin hypot copysign nextafter logaddexp logaddexp2 xlogy heaviside eq ne lt le gt ge
logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift gcd lcm float_power ldexp special.xlog1py""".split()
REDUCTIONS = "sum mean prod amax amin all any logsumexp nansum nanmean var std argmax argmin median cumsum cumprod logcumsumexp softmax log_softmax".split()
TEMPLATES = {
    "add.alpha": ["torch.add({x}, {y}, alpha={n})", "torch.sub({x}, {n}, alpha={n})", "torch.rsub({x}, {y}, alpha={n})"],
    "div.mode": ["torch.div({x}, {y}, rounding_mode='floor')", "torch.div({x}, {n}, rounding_mode='trunc')"],
    "clamp": ["torch.clamp({x}, {n}, {n})", "torch.clamp({x}, min={n})", "torch.clamp({x}, max={n})", "torch.clamp({x}, {y}, {z})", "{x}.clamp_({n}, {n})"],
    "hardtanh": ["F.hardtanh({x}, {n}, {n})"],
    "threshold": ["F.threshold({x}, {n}, {n})"],
    "logit": ["torch.logit({x})", "torch.logit({x}, 0.1)", "torch.logit({x}, 0.6)"],
    "where": ["torch.where({m}, {x}, {y})", "torch.where({m}, {x}, {n})", "torch.where({m}, {n}, {x})"],
    "masked_fill": ["{x}.masked_fill({m}, {n})", "{x}.masked_fill_({m}, {n})"],
    "addcmul": ["torch.addcmul({x}, {y}, {z}, value={n})", "torch.addcdiv({x}, {y}, {z}, value={n})"],
    "lerp": ["torch.lerp({x}, {y}, {n})", "torch.lerp({x}, {y}, {z})"],
    "nan_to_num": ["torch.nan_to_num({x}, {n}, {n}, {n})"],
    "number": ["{x} + {n}", "{n} - {x}", "{x} * {n}", "{n} / {x}", "{x} / {n}", "{x} // {n}", "{x} % {n}", "{x} ** {n}", "{n} ** {x}", "{x} == {n}", "{x} < {n}"],
    "in_place": ["{x}.add_({y})", "{x}.mul_({n})", "{x}.div_({y})", "{x}.sub_({n})", "{x}.pow_({n})", "{x}.copy_({y})", "{x}.fill_({n})", "{x}.floor_()", "{x}.neg_()"],
    "to": ["{x}.to(torch.{t})", "{x}.to(torch.{t}).to(torch.{t})", "{x}.to(torch.float8_e4m3fn).float()", "{x}.to(torch.float8_e5m2).float()"],
    "scatter": ["torch.zeros({k} + 3, dtype={x}.dtype).scatter_add(0, {i}, {x}.reshape(-1)[:{i}.numel()])", "torch.ones({k} + 3, dtype={x}.dtype).scatter(0, {i}, {n})",
                "torch.ones({k} + 3, dtype={x}.dtype).scatter_reduce(0, {i}, {x}.reshape(-1)[:{i}.numel()], '{r}', include_self=False)"],
    "index": ["{x}.reshape(-1)[{i}]", "torch.index_select({x}.reshape(-1), 0, {i})", "{x}.reshape(-1).take({i})", "torch.zeros({k} + 3, dtype={x}.dtype).index_add(0, {i}, {x}.reshape(-1)[:{i}.numel()])",
              "torch.zeros({k} + 3, dtype={x}.dtype).index_fill(0, {i}, {n})", "torch.take_along_dim({x}.reshape(-1), {i}, 0)"],
    "sums": ["torch.zeros(2, dtype=torch.{h}).scatter_add(0, torch.zeros({c}, dtype=torch.int64), torch.full(({c},), {u}, dtype=torch.{h}))",
             "torch.zeros(2, 2, dtype=torch.{h}).index_add(0, torch.zeros({c}, dtype=torch.int64), torch.full(({c}, 2), {u}, dtype=torch.{h}))",
             "torch.zeros(2, dtype=torch.{h}).index_put((torch.zeros({c}, dtype=torch.int64),), torch.full(({c},), {u}, dtype=torch.{h}), accumulate=True)",
             "torch.full(({c},), {u}, dtype=torch.{h}).sum()", "torch.full(({c},), {u}, dtype=torch.{h}).cumsum(0)[-1:]", "torch.full(({c},), {u}, dtype=torch.{h}).mean()"],
    "arange": ["torch.arange({s}, {s}, {s}, dtype=torch.{t})", "torch.arange({s}, dtype=torch.{t})", "torch.linspace({s}, {s}, {k}, dtype=torch.{t})", "torch.full(({k},), {n}, dtype=torch.{t})"],
    "histc": ["torch.histc({x}, 4, -2, 2)", "torch.histc({x}, 4)", "torch.bincount({i})"],
    "unique": ["torch.unique({x})", "torch.unique({x}, return_inverse=True, return_counts=True)", "torch.unique({x}, dim=0)", "torch.unique_consecutive({x})"],
    "sort": ["torch.sort({x}, stable=True)[0]", "torch.topk({x}.reshape(-1), 1)[0]", "torch.searchsorted(torch.tensor([-1.0, 0, 2]), {x})", "torch.isin({x}, {y})", "torch.kthvalue({x}.reshape(-1), 1)[0]"],
    "cat": ["torch.cat([{x}, {y}])", "torch.stack([{x}, {x}])", "torch.hstack([{x}, {y}])"],
    "pad": ["F.pad({x}, (1, 2), value={n})", "F.pad({x}, (1, 1), 'reflect')", "F.pad({x}, (1, 2), 'replicate')", "F.pad({x}, (1, 1), 'circular')"],
    "shape": ["{x}.flip(0)", "{x}.roll(1)", "{x}.t()", "{x}.unsqueeze(-1)", "{x}.reshape(-1)", "{x}.expand(2, *{x}.shape)", "{x}.tril()", "{x}.diag()", "{x}.contiguous()", "{x}.repeat(2, 1)", "{x}.narrow(0, 0, 1)",
              "{x}.movedim(0, -1)"],
    "norm": ["torch.linalg.vector_norm({x}, {n})", "torch.linalg.vector_norm({x})", "torch.dist({x}, {y})", "F.normalize({x}, dim=0)"],
    "loss": ["F.mse_loss({x}, {y})", "F.l1_loss({x}, {y})", "F.huber_loss({x}, {y})", "F.smooth_l1_loss({x}, {y})", "F.binary_cross_entropy_with_logits({x}, {y})"],
    "matmul": ["{x} @ {x}.t()", "torch.dot({x}.reshape(-1), {x}.reshape(-1))", "torch.outer({x}.reshape(-1), {y}.reshape(-1))", "torch.addr(torch.ones(3, 3, dtype={x}.dtype), {x}.reshape(-1)[:3], {x}.reshape(-1)[:3], beta=0.5, alpha=2)"],
    "hash_tensor": ["torch.hash_tensor({x})", "torch.hash_tensor({x}, dim={d})"],
    "chunk_cat": ["torch._chunk_cat([{x}, {x}], 0, {k})"],
    "fake_quantize": ["torch.fake_quantize_per_tensor_affine({x}, 0.1, 3, 0, 255)", "torch.quantize_per_tensor({x}, 0.1, 3, torch.quint8).int_repr()"],
    "complex": ["torch.complex({x}, {x})", "torch.view_as_real({x})", "{x}.real * 2", "{x}.conj() + {x}", "torch.polar({x}.abs(), {x}.abs())"],
}


def literal(rng, dtype):
    """An element as text."""
    if dtype == "bool":
        return rng.choice(["True", "False"])
    if dtype in BITS:
        low, high = BITS[dtype]
        return str(rng.choice([low, high, 0, 1, 2, 3]) if rng.random() < 0.2 else rng.randint(max(low, -9), 9))
    if dtype in COMPLEX:
        return "complex(%s, %s)" % (real(rng), real(rng))
    return real(rng)


def real(rng):
    return rng.choice(SPECIAL) if rng.random() < 0.25 else "%.4g" % rng.uniform(-4, 4)


def count(shape):
    n = 1
    for size in shape:
        n *= size
    return n


def tensor(rng, dtype=None, shape=None, dense=False):
    """An expression for a tensor: its elements are a list, its layout what a view makes of it."""
    dtype = dtype or rng.choice(OFTEN)
    shape = rng.choice(SHAPES) if shape is None else shape
    layout = "dense" if dense or len(shape) == 0 or rng.random() < 0.6 else rng.choice(["t", "step", "offset", "expand"])
    if layout == "expand" and len(shape) > 1:
        return "torch.tensor([%s], dtype=torch.%s).expand(%s)" % (", ".join(literal(rng, dtype) for _ in range(shape[-1])), dtype, ", ".join(map(str, shape)))
    n = count(shape)
    given = (2 * n if layout == "step" else n + 1 if layout == "offset" else n)
    flat = "torch.tensor([%s], dtype=torch.%s)" % (", ".join(literal(rng, dtype) for _ in range(given)), dtype)
    if layout == "step":
        flat += "[::2]"
    elif layout == "offset":
        flat += "[1:]"
    if layout == "t" and len(shape) > 1:
        return flat + ".view(%s).transpose(0, %d)" % (", ".join(map(str, (shape[-1],) + shape[1:-1] + (shape[0],))), len(shape) - 1)
    return flat + ".reshape(%s)" % repr(tuple(shape))


def fill(rng, name, template):
    """A call's text: lines that make its tensors, then the expression."""
    lines, n = [], [0]
    base = rng.choice(SHAPES)
    dtype = rng.choice(OFTEN)

    def add(value):
        n[0] += 1
        lines.append("%s = %s" % ("abcdefgh"[n[0] - 1], value))
        return "abcdefgh"[n[0] - 1]

    shapes = [base, base, (), base[-1:], (1,) * len(base)]
    kinds = {"x": lambda: tensor(rng, dtype, base), "y": lambda: tensor(rng, dtype if rng.random() < 0.6 else None, rng.choice(shapes)),
             "z": lambda: tensor(rng, dtype if rng.random() < 0.7 else None, rng.choice(shapes)), "m": lambda: tensor(rng, "bool", rng.choice(shapes)),
             "i": lambda: "torch.tensor([%s])" % ", ".join(str(rng.randint(0, 2)) for _ in range(rng.choice([0, 1, 2, 3])))}
    text, made = template, {}
    for key, make in kinds.items():
        if "{%s}" % key in text:
            made[key] = add(make())
            text = text.replace("{%s}" % key, made[key])
    words = {"{s}": lambda: rng.choice(["0", "1", "5", "-3", "0.3", "1.5", "-0.5", "7.9", "nan"]), "{n}": lambda: rng.choice(NUMBERS), "{d}": lambda: rng.choice(["0", "-1", "1"]), "{k}": lambda: str(rng.randint(1, 4)), "{t}": lambda: rng.choice(DTYPES),
             "{r}": lambda: rng.choice(["sum", "prod", "mean", "amax", "amin"]), "{h}": lambda: rng.choice(FLOATS), "{c}": lambda: rng.choice(["10", "300", "1000"]),
             "{u}": lambda: rng.choice(["1.0", "0.1", "1.003", "3.0"])}
    for word, make in words.items():
        while word in text:
            text = text.replace(word, make(), 1)
    return {"kind": "call", "name": name, "text": "\n".join(lines + [text])}


def templates():
    table = {name: ["torch.%s({x})" % name] for name in UNARY}
    table.update({name: ["F.%s({x})" % name] for name in ACTIVATIONS})
    for name in BINARY:
        table[name] = ["torch.%s({x}, {y})" % name, "torch.%s({x}, {y})" % name, "torch.%s({x}, {n})" % name]
    for name in REDUCTIONS:
        table[name] = ["torch.%s({x}, {d})" % name] + (["torch.%s({x})" % name] if name not in ("logsumexp", "cumsum", "cumprod", "logcumsumexp", "softmax", "log_softmax") else [])
    for name, more in TEMPLATES.items():
        table[name] = table.get(name, []) + more
    return table


# how matrices and images lie, and what reads them: the transformed dims of a Fourier transform, the columns of a factor, an attention's heads
MATRICES = """linalg.inv({s}) linalg.solve({s}, {a}) linalg.qr({a}) linalg.svdvals({a}) linalg.lu_factor({s}) linalg.cholesky({s}) linalg.eigvalsh({s}) linalg.pinv({a}) linalg.matrix_power({s}, -1) linalg.matrix_exp({s})
linalg.solve_triangular({s}, {a}, upper=False) linalg.det({s}) linalg.slogdet({s}) linalg.cross({s}, {s}, dim=-2) linalg.inv_ex({s}) linalg.lstsq({s}, {a}) cholesky_solve({a}, torch.linalg.cholesky({s})) matmul({s}, {a})
fft.fft({a}) fft.fft({a}, dim=-2) fft.ifft({a}, dim=0) fft.rfft({a}, dim=-2) fft.irfft({a}, dim=-2) fft.fft2({a}) fft.fftn({a}) fft.fftn({a}, dim=(0, -1)) fft.rfftn({a}, dim=(-1, 0)) fft.irfftn({a}, dim=(-1, 0)) fft.hfft({a})
fft.ihfftn({a}) fft.fft({a}, n=5) fft.rfft2({a}, dim=(-1, -2)) nn.functional.scaled_dot_product_attention({a}[None], {a}[None], {a}[None]) unique({a}, dim=1) quantile({a}, torch.tensor([0.1, 0.5]), dim=-2)
cumsum({a}, -2) sort({a}, -1) topk({a}, 1, -2) median({a}, -1) diff({a}, dim=-2) cdist({a}, {a}) einsum('...ij->...ji', {a}) kron({a}, {s}) tril({a}) index_select({a}, -1, torch.tensor([0, 1]))""".replace(" linalg", "\nlinalg").replace(
    " fft.", "\nfft.").replace(" nn.", "\nnn.").replace(" unique(", "\nunique(").replace(" quantile(", "\nquantile(")


def matrix_call(rng):
    batch = rng.choice([(), (2,), (2,), (2, 3)])
    rows, columns = 3, rng.choice([2, 3, 5])
    layout = rng.choice(["rows", "columns", "last"])
    made = "torch.arange(%d.).mul(1.37).sin().add(0.05)"
    shape = batch + (rows, columns)

    def lying(size, name):
        order = list(range(len(size)))
        if layout == "columns":
            order[-2:] = order[:-3:-1]
        elif layout == "last":
            order = order[-2:] + order[:-2]
        lying_as = tuple(size[i] for i in order)
        return "%s = %s.reshape(%s).permute(%s)" % (name, made % count(size), lying_as, tuple(order.index(i) for i in range(len(size))))

    lines = [lying(shape, "a"), lying(batch + (rows, rows), "s"), "s.copy_(s @ s.mT + 3 * torch.eye(3))"]
    template = rng.choice([t for line in MATRICES.split("\n") for t in re.split(r"(?<=\)) (?=[a-z])", line)])
    return {"kind": "call", "name": "matrices", "text": "\n".join(lines + ["torch." + template.replace("{a}", "a").replace("{s}", "s")])}


def calls(seed, n):
    rng = random.Random(seed)
    table = templates()
    names = sorted(table)
    made = []
    for k in range(n):
        name = names[k % len(names)]
        made.append(fill(rng, name, rng.choice(table[name])) if k % 8 else matrix_call(rng))
    return made


# ---- programs --------------------------------------------------------------------------------------

STATEMENTS = ["{v} = {a} * {n}", "{v} = {a} / {n}", "{v} = {a} + {b}", "{v} = {a} * {b}", "{v} = {a} - {n}", "{v} = torch.relu({a})", "{v} = torch.sigmoid({a})", "{v} = torch.clamp({a}, -2, 3)",
              "{v} = torch.where({a} > 0, {a}, {b})", "{v} = torch.maximum({a}, {b})", "{v} = {a}.abs()", "{v} = torch.exp({a})", "{v} = {a}.to(torch.{t})", "{v} = {a}.float()", "{v} = torch.tanh({a})",
              "{v} = {a}.sum()", "{v} = {a}.mean(-1)", "{v} = {a}.amax(0)", "{v} = torch.softmax({a}, -1)", "{v} = {a}.t()", "{v} = {a}.reshape(-1)", "{v} = {a}[0]", "{v} = {a}[1:]", "{v} = {a}.unsqueeze(0)",
              "{v} = torch.add({a}, {b}, alpha={n})", "{v} = torch.addcmul({a}, {b}, {a})", "{v} = {a} == {b}", "{v} = {a} < {n}", "{v} = torch.isnan({a})", "{v} = torch.cat([{a}, {b}])", "{v} = {a} ** 2",
              "{v} = [{a}, {b}][0]", "{v} = torch.split({a}, 1)[0]", "{v} = torch.chunk({a}, 2)[-1]", "{v} = ({a}, {b})[1]", "{v} = {'k': {a}}['k']", "{v} = torch.stack([{a}, {a}])[1]", "{v} = {a}.expand(2, -1, -1)[0]",
              "{v} = torch.nan_to_num({a})", "{v} = torch.fmax({a}, {b})", "{v} = {a}.movedim(0, -1)", "{v} = torch.zeros_like({a})", "{v} = {a}.flip(0)", "{v} = {a}.cumsum(0)",
              "{v} = torch.sqrt({a})", "{v} = {a}.clone()", "{v} = torch.floor({a})", "{v} = torch.remainder({a}, {n})", "{v} = torch.logit({a}, 0.1)", "{v} = {a}.masked_fill({a} > 0, 1)"]
WRITES = ["{a}.mul_({n})", "{a}.add_({b})", "{a}.div_({n})", "{a}.t().add_(1)", "{a}[0] = {n}", "{a}[1:].mul_(2)", "{a}.copy_({b})", "{a}.clamp_(-1, 2)", "{a}.zero_()", "{a} *= {n}", "{a} += {b}", "{a}.relu_()",
          "torch.add({a}, {b}, out={a})", "torch.abs({a}, out={a})", "torch.split({a}, 1)[0].mul_(2)", "[{a}[0], {b}][0].add_(1)", "torch.unbind({a})[0].copy_({b}[0])", "{a}.diagonal().fill_(2)", "{a}.unsqueeze(0).neg_()",
          "{a}.view(-1)[0] = 1", "{a}.fill_(2)"]
PROGRAM_NUMBERS = ["2", "-3", "0.5", "1e5", "1e-8", "1.00390625", "3", "7", "0.1"]


def program(rng):
    arguments = ["x", "y", "z"][: rng.randint(1, 3)]
    base = rng.choice([(3,), (2, 3), (3, 3), (2, 3), (17,), (4, 40)])
    dtype = rng.choice(OFTEN)
    setup = ["%s = %s" % (name, tensor(rng, dtype if rng.random() < 0.7 else None, base if rng.random() < 0.8 else rng.choice([(), base[-1:]]))) for name in arguments]
    names, lines = list(arguments), []
    for k in range(rng.randint(2, 7)):
        writes = rng.random() < 0.25
        statement = rng.choice(WRITES if writes else STATEMENTS)
        text = statement.replace("{a}", rng.choice(names)).replace("{b}", rng.choice(names)).replace("{n}", rng.choice(PROGRAM_NUMBERS)).replace("{t}", rng.choice(DTYPES))
        if not writes:
            text = text.replace("{v}", "v%d" % k)
            names.append("v%d" % k)
        lines.append("    " + text)
    text = "def forward(%s):\n%s\n    return (%s,)\n" % (", ".join(arguments), "\n".join(lines), ", ".join(names))
    return {"kind": "program", "name": "program", "text": text, "setup": "\n".join(setup), "arguments": arguments}


# of complex matrices, of their parts: views among them, that are lazily conjugated or negated, and what writes through them
COMPLEX_VIEWS = ["{a}.conj()", "{a}.conj()", "{a}.t()", "{a}.mH", "{a}.contiguous()", "{a}.clone()", "{a}.reshape(-1, {a}.size(0))", "{a} + 1", "{a} * {n}", "torch.conj({a}.t())", "{a}.conj_physical()",
                 "{a}.resolve_conj()", "{a}.transpose(0, 1).contiguous()", "{a}.detach()", "{a}.expand(2, -1, -1)[1]", "{a}.to(torch.complex64)", "{a}.diagonal().unsqueeze(0)", "torch.cat([{a}, {a}.conj()])",
                 "{a}[:, 1:]"]
PARTS = ["{a}.real", "{a}.imag", "{a}.imag.t()", "{a}.abs()", "torch.view_as_real({a}.resolve_conj())[:, :, 1]"]
REAL_VIEWS = ["{a}.t()", "{a} + 1", "{a} * {a}", "{a}.relu()", "{a}.neg()", "{a}.contiguous()", "torch._neg_view({a})", "torch.sigmoid({a}) - {a}", "({a} * 2 + 1).tanh()", "{a}.reshape(-1, {a}.size(0))"]
COMPLEX_WRITES = ["{a}.mul_({n})", "{a}.add_(1j)", "{a}[0] = 1j", "{a}.mul_(0.5 + 1j)", "{a}.zero_()", "{a}[:, 0] += 2", "{a} *= {a}.clone()", "{a}.real.add_(1)", "{a}.imag.mul_(3)", "{a}[0].neg_()", "torch.add({a}, {a}, out={a})"]
REAL_WRITES = ["{a}.mul_({n})", "{a}.add_(1)", "{a}[0] = 7.", "{a}.neg_()", "{a}.relu_()", "{a}[:, 0] += 2", "{a}.clamp_(-1, 1)", "{a} += {a}.clone()"]


def views(rng):
    shape = rng.choice([(3, 3), (2, 3), (1, 3), (2, 2)])
    of = {"x": tensor(rng, "complex64", shape), "z": tensor(rng, "float32", shape)}
    names, lines = {"x": ["x"], "z": ["z"]}, []
    for k in range(rng.randint(4, 11)):
        r, result = rng.random(), None
        if r < 0.5:
            statement, kind, result = rng.choice(COMPLEX_VIEWS), "x", "x"
        elif r < 0.65:
            statement, kind, result = rng.choice(PARTS), "x", "z"
        elif r < 0.75:
            statement, kind, result = rng.choice(REAL_VIEWS), "z", "z"
        else:
            kind = rng.choice("xxz")
            statement = rng.choice(COMPLEX_WRITES if kind == "x" else REAL_WRITES)
        text = statement.replace("{a}", rng.choice(names[kind])).replace("{n}", rng.choice(PROGRAM_NUMBERS))
        if result:
            text = "v%d = %s" % (k, text)
            names[result].append("v%d" % k)
        lines.append("    " + text)
    asked = ["%s.is_%s()" % (name, bit) for kind, bit in (("x", "conj"), ("z", "neg")) for name in names[kind]]
    text = "def forward(x, z):\n%s\n    return (%s,)\n" % ("\n".join(lines), ", ".join(names["x"] + names["z"] + asked))
    return {"kind": "program", "name": "views", "text": text, "setup": "\n".join("%s = %s" % item for item in of.items()), "arguments": ["x", "z"]}


def programs(seed, n):
    rng = random.Random(seed + 1000000)
    return [views(rng) if k % 3 == 2 else program(rng) for k in range(n)]
