# SPDX-License-Identifier: Apache-2.0
"""Programs about memory, for against.py: views of images and matrices, writes through them, results in place and with out=, in all layouts.

The generator follows the shape of each variable, so most programs run to their end; what they do is decided by strides, which it does not follow. All variables
are results, and which of them share memory is compared (against_worker.py), beside what the programs ask themselves: strides, is_contiguous, conj and neg bits.
"""
import math
import random

BASES = [(2, 3), (3, 3), (3, 4), (4, 2), (2, 3, 4), (2, 2, 3), (1, 3, 4, 4), (2, 3, 4, 4), (2, 3, 4, 5), (2, 4, 3, 3), (2, 1, 3, 4), (1, 3, 4), (6,), (4,), (3, 1)]
NUMBERS = ["2", "-3", "0.5", "1e5", "3", "7", "0.1", "255"]
FLOATS = ["float32", "float16", "bfloat16", "float64"]
INTS = ["uint8", "int8", "int64", "int32", "int16"]


class Variable:
    def __init__(self, name, shape, kind):
        self.name, self.shape, self.kind = name, tuple(shape), kind  # kind: f, i, b, c

    def __str__(self):
        return self.name


def base_text(rng, dtype, shape):
    """A tensor in some layout, that owns its memory or is a part of another's."""
    n = math.prod(shape)
    numbers = "torch.arange(%d) * 7 %% 23 - 11" if dtype not in ("uint8",) else "torch.arange(%d) * 7 %% 23"
    if rng.random() < 0.12 and dtype in FLOATS:
        numbers = "(torch.arange(%d) * 7 %% 23 - 11) / torch.tensor([0., 1., 2., 4.])[torch.arange(%d) %% 4]"
    text = numbers.replace("%d", str(n)).replace("%%", "%")
    how = rng.choice(["rows", "rows", "turned", "last", "offset", "steps", "expanded"])
    order = list(range(len(shape)))
    if how == "turned":
        rng.shuffle(order)
    elif how == "last" and len(shape) > 2:
        order = order[:-3] + order[-2:] + [order[-3]]
    lying = tuple(shape[i] for i in order)
    if how == "offset":
        text = text.replace(str(n), str(n + 2))
        return "(%s).to(torch.%s)[2:].reshape(%s)" % (text, dtype, lying)
    if how == "steps":
        text = text.replace("arange(%d)" % n, "arange(%d)" % (2 * n))
        return "(%s).to(torch.%s).reshape(%s)[..., ::2]" % (text, dtype, lying[:-1] + (2 * lying[-1],))
    if how == "expanded" and rng.random() < 0.3:
        text = text.replace("arange(%d)" % n, "arange(%d)" % (n // shape[0]))
        return "(%s).to(torch.%s).reshape(%s).expand(%s)" % (text, dtype, (1,) + tuple(shape[1:]), tuple(shape))
    made = "(%s).to(torch.%s).reshape(%s)" % (text, dtype, lying)
    if dtype == "complex64":
        made = "torch.complex(%s, (%s).float().reshape(%s).flip(0))" % (made.replace("complex64", "float32"), text, lying)
    return made if order == sorted(order) else made + ".permute(%s)" % ", ".join(str(order.index(i)) for i in range(len(shape)))


# ---- statements: each returns (text of the expression, shape of the result, its kind) or None -------


def permuted(rng, a):
    if len(a.shape) < 2:
        return None
    order = list(range(len(a.shape)))
    rng.shuffle(order)
    if len(order) == 4 and rng.random() < 0.5:
        order = rng.choice([[0, 2, 3, 1], [0, 3, 1, 2]])
    shape = [a.shape[i] for i in order]
    return "%s.permute(%s)" % (a, ", ".join(map(str, order))), shape, a.kind


def transposed(rng, a):
    if len(a.shape) < 2:
        return None
    i, j = rng.sample(range(len(a.shape)), 2)
    shape = list(a.shape)
    shape[i], shape[j] = shape[j], shape[i]
    word = rng.choice(["%s.transpose(%d, %d)", "%s.swapaxes(%d, %d)", "torch.transpose(%s, %d, %d)"])
    if len(shape) == 2 and rng.random() < 0.5:
        word = rng.choice(["%s.t()", "%s.T", "%s.mT"]) + "%.0s%.0s"
    return word % (a, i, j), shape, a.kind


def narrowed(rng, a):
    if not a.shape or max(a.shape) < 2:
        return None
    d = rng.choice([i for i, n in enumerate(a.shape) if n > 1])
    n = a.shape[d]
    start = rng.randrange(n - 1)
    size = rng.randint(1, n - start)
    shape = list(a.shape)
    how = rng.randrange(4)
    if how == 0:
        shape[d] = size
        return "%s.narrow(%d, %d, %d)" % (a, d, start, size), shape, a.kind
    if how == 1:
        del shape[d]
        return "%s.select(%d, %d)" % (a, d, start), shape, a.kind
    before = ":, " * d
    if how == 2:
        shape[d] = (n + 1) // 2
        return "%s[%s::2]" % (a, before), shape, a.kind
    del shape[d]
    if rng.random() < 0.4:
        return "%s[..., %s%d]" % (a, "", start % a.shape[-1]), a.shape[:-1], a.kind
    return "%s[%s%d]" % (a, before, start - n if rng.random() < 0.3 else start), shape, a.kind


def widened(rng, a):
    n = len(a.shape)
    if n > 4:
        return None
    how = rng.randrange(4)
    if how == 0:
        d = rng.randint(0, n)
        return "%s.unsqueeze(%d)" % (a, d), a.shape[:d] + (1,) + a.shape[d:], a.kind
    if how == 1:
        return "%s.expand(2, %s)" % (a, ", ".join(["-1"] * n)) if n else "%s.expand(2)" % a, (2,) + a.shape, a.kind
    if how == 2 and 1 in a.shape:
        d = a.shape.index(1)
        return "%s.squeeze(%d)" % (a, d), a.shape[:d] + a.shape[d + 1:], a.kind
    return "%s.squeeze()" % a, [s for s in a.shape if s != 1], a.kind


def copied(rng, a):
    words = ["%s.contiguous()"] * 4 + ["%s.clone()", "%s.clone(memory_format=torch.contiguous_format)", "%s.detach()", "%s.view_as(%s)" % (a, a), "%s.flip(0)" if a.shape else "%s + 0"]
    if len(a.shape) == 4:
        words += ["%s.contiguous(memory_format=torch.channels_last)", "%s.to(memory_format=torch.channels_last)", "%s.clone(memory_format=torch.channels_last)"] * 2
    word = rng.choice(words)
    return word % a if "%s" in word else word, a.shape, a.kind


def flat(rng, a):
    n = math.prod(a.shape)
    how = rng.randrange(6)
    if how == 0:
        return "%s.reshape(-1)" % a, (n,), a.kind
    if how == 1:
        return "%s.flatten()" % a, (n,) if a.shape else (1,), a.kind
    if how == 2 and len(a.shape) > 2:
        return "%s.flatten(1)" % a, (a.shape[0], n // a.shape[0]) if a.shape[0] else a.shape, a.kind
    if how == 3 and len(a.shape) > 1:
        d = rng.randrange(len(a.shape) - 1)
        shape = a.shape[:d] + (a.shape[d] * a.shape[d + 1],) + a.shape[d + 2:]
        return "%s.%s(%s)" % (a, rng.choice(["reshape", "reshape", "reshape", "view"]), ", ".join(map(str, shape))), shape, a.kind
    if how == 4 and a.shape and a.shape[-1] % 2 == 0 and a.shape[-1]:
        shape = a.shape[:-1] + (2, a.shape[-1] // 2)
        return "%s.%s(%s)" % (a, rng.choice(["view", "reshape"]), ", ".join(map(str, shape))), shape, a.kind
    return "%s.ravel()" % a, (n,), a.kind


def parts(rng, a):
    if not a.shape or max(a.shape) < 2:
        return None
    d = rng.choice([i for i, n in enumerate(a.shape) if n > 1])
    n, shape = a.shape[d], list(a.shape)
    how = rng.randrange(6)
    if how == 0:
        size = -(-n // 2)
        shape[d] = n - size * ((n + size - 1) // size - 1)
        return "%s.chunk(2, %d)[-1]" % (a, d), shape, a.kind
    if how == 1:
        shape[d] = 1
        return "torch.split(%s, 1, %d)[%d]" % (a, d, rng.randrange(n)), shape, a.kind
    if how == 2:
        del shape[d]
        return "%s.unbind(%d)[%d]" % (a, d, rng.randrange(n)), shape, a.kind
    if how == 3 and len(shape) > 1:
        i, j = rng.sample(range(len(shape)), 2)
        size = min(shape[i], shape[j])
        return "%s.diagonal(0, %d, %d)" % (a, i, j), [s for k, s in enumerate(shape) if k not in (i, j)] + [size], a.kind
    if how == 4:
        return "%s.unfold(%d, 2, 1)" % (a, d), shape[:d] + [n - 1] + shape[d + 1:] + [2], a.kind
    shape[d] = n // 2
    return "torch.tensor_split(%s, [%d], %d)[0]" % (a, n // 2, d), shape, a.kind


def strided(rng, a):
    n = math.prod(a.shape)
    if n < 4 or a.kind == "c" and rng.random() < 0.5:
        return None
    sizes, strides = rng.choice([((2, 2), (1, 2)), ((2, 2), (2, 1)), ((3,), (1,)), ((2,), (0,)), ((2, 1), (1, 3))])
    return "%s.as_strided(%s, %s)" % (a, sizes, strides), sizes, a.kind


def pointwise(rng, a, b):
    n = rng.choice(NUMBERS)
    unary = ["%s + 1", "%s * " + n, "%s / " + n, "%s.float()", "%s - %s" % (a, "1"), "%s.abs()", "-%s", "torch.relu(%s)", "%s.clamp(-1, 2)", "%s.to(torch.float16)", "%s.double()",
             "torch.zeros_like(%s)", "torch.ones_like(%s)", "torch.full_like(%s, 3)", "%s.masked_fill(%s > 1, 2)" % (a, a), "torch.where(%s > 0, %s, 0)" % (a, a), "%s > 0", "%s.int()"]
    if a.kind == "c":
        unary = ["%s + 1j", "%s * 2", "%s.conj()", "%s.conj_physical()", "torch.zeros_like(%s)", "%s.to(torch.complex64)", "%s.resolve_conj()"]
    if a.kind in "b":
        unary = ["~%s", "%s.float()", "%s.to(torch.uint8)", "%s & True", "torch.logical_not(%s)"]
    if a.kind == "f":
        unary += ["torch.sigmoid(%s)", "%s.tanh()", "torch.exp(%s)", "torch.nan_to_num(%s)", "%s.mul(0.5)", "%s.float() / 255"]
    word = rng.choice(unary)
    text = word % a if "%s" in word else word
    kind = a.kind
    if any(w in word for w in ("float", "double", "/")):
        kind = "f" if a.kind != "c" else "c"
    if "." in n and n in word:
        kind = "f"
    if word == "%s > 0" or "logical_not" in word:
        kind = "b"
    if word == "%s.int()" or "uint8" in word:
        kind = "i"
    return text, a.shape, kind


def broadcast(p, q):
    shape, n = [], max(len(p), len(q))
    for x, y in zip((1,) * (n - len(p)) + p, (1,) * (n - len(q)) + q):
        if x != y and 1 not in (x, y):
            return None
        shape.append(y if x == 1 else x)
    return tuple(shape)


def paired(rng, a, b):
    shape = broadcast(a.shape, b.shape)
    if shape is None or "b" in (a.kind, b.kind):
        return None
    kind = "c" if "c" in (a.kind, b.kind) else "f" if "f" in (a.kind, b.kind) else "i"
    words = ["%s + %s", "%s * %s", "%s - %s", "torch.add(%s, %s, alpha=2)"]
    if kind != "c":
        words += ["torch.maximum(%s, %s)", "torch.where({a} > {b}, {a}, {b})".format(a=a, b=b), "torch.broadcast_tensors(%s, %s)[1]" % (a, b), "torch.broadcast_tensors(%s, %s)[0]" % (a, b)]
    word = rng.choice(words)
    if "broadcast_tensors" in word:
        kind = b.kind if word.endswith("[1]") else a.kind
    return word % (a, b) if "%s" in word else word, shape, kind


def joined(rng, a, b):
    if a.shape != b.shape or not a.shape or a.kind != b.kind:
        return None
    d = rng.randrange(len(a.shape))
    if rng.random() < 0.6:
        shape = list(a.shape)
        shape[d] *= 2
        return "torch.cat([%s, %s], %d)" % (a, b, d), shape, a.kind
    return "torch.stack([%s, %s], %d)" % (a, b, d), a.shape[:d] + (2,) + a.shape[d:], a.kind


def reduced(rng, a):
    if not a.shape or a.kind in "bc" or 0 in a.shape:
        return None
    d = rng.randrange(len(a.shape))
    keep = rng.random() < 0.4
    shape = a.shape[:d] + ((1,) if keep else ()) + a.shape[d + 1:]
    word = rng.choice(["%s.sum(%d%s)", "%s.amax(%d%s)", "%s.float().mean(%d%s)", "%s.max(%d%s)[0]", "torch.cumsum(%s, %d)", "torch.sort(%s, %d)[0]", "%s.float().softmax(%d)", "torch.roll(%s, 1, %d)", "torch.flip(%s, [%d])",
                       "torch.index_select(%s, {d}, torch.tensor([0, 0]))"])
    kind = "f" if "float" in word else a.kind
    if "cumsum" in word or "sort" in word or "softmax" in word or "roll" in word or "flip" in word:
        return word % (a, d), a.shape, kind
    if "index_select" in word:
        return word.replace("{d}", str(d)) % a, a.shape[:d] + (2,) + a.shape[d + 1:], kind
    return word % (a, d, ", keepdim=True" if keep else ""), shape, kind


def image(rng, a):
    if len(a.shape) != 4 or a.kind != "f" or min(a.shape) < 1:
        return None
    n, c, h, w = a.shape
    how = rng.randrange(7)
    if how == 0 and h > 1 and w > 1:
        return "F.avg_pool2d(%s.float(), 2)" % a, (n, c, h // 2, w // 2), "f"
    if how == 1 and h > 1 and w > 1:
        return "F.max_pool2d(%s.float(), 2)" % a, (n, c, h // 2, w // 2), "f"
    if how == 2:
        return "F.conv2d(%s.float(), torch.ones(2, %d, 1, 1))" % (a, c), (n, 2, h, w), "f"
    if how == 3:
        return "F.interpolate(%s.float(), scale_factor=2.0)" % a, (n, c, 2 * h, 2 * w), "f"
    if how == 4:
        return "F.pad(%s, (1, 0, 0, 1))" % a, (n, c, h + 1, w + 1), "f"
    if how == 5:
        return "F.group_norm(%s.float(), 1)" % a, a.shape, "f"
    return "F.adaptive_avg_pool2d(%s.float(), 1)" % a, (n, c, 1, 1), "f"


def lazily(rng, a):
    if a.kind == "c":
        word = rng.choice(["%s.real", "%s.imag", "%s.conj().imag", "torch.view_as_real(%s.resolve_conj())", "%s.conj()", "%s.mH" if len(a.shape) > 1 else "%s.conj()", "%s.conj().real"])
        if "view_as_real" in word:
            return word % a, a.shape + (2,), "f"
        return word % a, a.shape[:-2] + a.shape[:-3:-1] if "mH" in word else a.shape, "c" if word in ("%s.conj()", "%s.mH") else "f"
    if a.kind == "f":
        return rng.choice([("%s.contiguous().view(torch.uint8)" % a, None, "i"), ("torch._neg_view(%s)" % a, a.shape, "f"), ("%s.real" % a, a.shape, a.kind)])
    return None


VIEWS = [permuted, permuted, transposed, narrowed, narrowed, widened, copied, copied, flat, flat, parts, parts, strided, lazily]


def write(rng, a, b):
    n = rng.choice(NUMBERS) if a.kind == "f" else rng.choice(["2", "3", "7"])
    words = ["{a} -= {n}", "{a} += 1", "{a} *= {n}", "{a}.mul_({n})", "{a}.zero_()", "{a}.fill_({n})", "{a}.neg_()", "{a}.contiguous().zero_()", "{a}.clone().zero_()"]
    if a.kind == "b":
        words = ["{a}.zero_()", "{a}.logical_not_()", "{a}.fill_(True)"]
    if a.shape:
        words += ["{a}[0] = {n}", "{a}[..., -1] = {n}", "{a}.reshape(-1)[0] = {n}", "{a}.flatten()[0] = {n}", "{a}[0].fill_({n})", "{a}.unbind(0)[0].fill_({n})", "{a}.chunk(2, -1)[0].zero_()",
                  "{a}[torch.tensor([0])] = {n}", "{a}[::2] = {n}", "{a}.index_fill_(0, torch.tensor([0]), {n})", "{a}.select(-1, 0).zero_()", "{a}.narrow(0, 0, 1).fill_({n})", "{a}.unsqueeze(0)[0].zero_()",
                  "{a}.ravel()[-1] = {n}", "{a}.view(-1)[0] = {n}", "{a}.expand_as({a})[0] = {n}"]
        if a.kind in "fi":
            words += ["{a}[{a} > 1] = {n}", "{a}.masked_fill_({a} < 0, {n})", "{a}.clamp_(-1, 2)", "{a}.index_put_((torch.tensor([0, 0]),), torch.tensor({n}).to({a}.dtype), accumulate=True)", "{a}.copy_({a}.flip(0))",
                      "{a}.clamp_(min=0)", "torch.mul({a}, {a}, out={a})", "torch.add({a}, {a}, out={a}[:])", "{a}.sub_({a}.sum().to({a}.dtype))", "{a}[0] += {a}[-1]", "{a}.relu_()", "torch.abs({a}, out={a})"]
        if len(a.shape) > 1:
            words += ["{a}.t().zero_()" if len(a.shape) == 2 else "{a}.transpose(0, 1)[0] = {n}", "{a}[:, 0] = {n}", "{a}.diagonal().fill_({n})", "{a}.permute(%s).select(0, 0).zero_()" % ", ".join(str(i) for i in reversed(range(len(a.shape)))),
                      "{a}.flatten(0, 1)[0] = {n}"]
    if a.kind == "c":
        words += ["{a}.real.add_(1)", "{a}.imag.zero_()", "{a}.conj().imag.add_(2)", "{a}.conj().mul_(1j)", "{a}.mul_(1j)"]
    if broadcast(a.shape, b.shape) == a.shape and b.kind == a.kind and a.kind in "fic":
        words += ["{a}[:] = {b}"] * 3
        if a.shape == b.shape:  # else results depend on the order of the elements, where b is a part of a
            words += ["{a} += {b}", "{a}.copy_({b})", "{a}.sub_({b})", "torch.add({a}, {b}, out={a})", "torch.neg({b}, out={a})"]
    return rng.choice(words).format(a=a, b=b, n=n)


ASKED = ["{a}.is_contiguous()", "{a}.stride()", "{a}.storage_offset()", "{a}.is_contiguous(memory_format=torch.channels_last)", "{a}.is_conj()", "{a}.numel()"]
TURNED = ["{a}.t_()", "{a}.unsqueeze_(0)", "{a}.squeeze_()", "{a}.transpose_(0, -1)"]


def layout_program(rng):
    names = ["x", "y"][: rng.choice([1, 2, 2])]
    shape = rng.choice(BASES)
    dtype = rng.choice(FLOATS[:3] * 2 + INTS + ["complex64"] * 2 + ["float64"])
    variables, setup = [], []
    for name in names:
        own = dtype if rng.random() < 0.75 else rng.choice(FLOATS + INTS)
        own_shape = shape if rng.random() < 0.7 else rng.choice(BASES)
        setup.append("%s = %s" % (name, base_text(rng, own, own_shape)))
        variables.append(Variable(name, own_shape, "c" if own == "complex64" else "f" if own in FLOATS else "i"))
    lines, asked, made = [], [], 0
    for _ in range(rng.randint(4, 12)):
        a, b, r = rng.choice(variables[-4:]), rng.choice(variables), rng.random()
        if r < 0.3:
            lines.append(write(rng, a, b))
            continue
        if r < 0.33:
            v = "q%d" % made
            made += 1
            lines.append("%s = torch.empty(0, dtype=%s.dtype)" % (v, a))
            lines.append(rng.choice(["torch.add({a}, {a}, out={v})", "torch.cat([{a}, {a}], out={v})" if a.shape else "torch.neg({a}, out={v})", "torch.mul({a}, {a}, out={v})"]).format(a=a, v=v) if a.kind in "fic" else "%s.zero_()" % v)
            asked.append("%s.stride()" % v)
            continue
        if r < 0.36 and a.kind != "b":
            lines.append("if %s.is_contiguous():\n        %s" % (a, write(rng, a, b)))
            continue
        if r < 0.39 and a.shape and a.kind in "fi" and a.shape[0]:
            lines.append("for i in range(%d):\n        %s[i] += i" % (min(a.shape[0], 3), a))
            continue
        if r < 0.42:
            asked.append(rng.choice(ASKED).format(a=a))
            continue
        if r < 0.65:
            item = rng.choice(VIEWS)(rng, a)
        elif r < 0.78:
            item = pointwise(rng, a, b)
        elif r < 0.86:
            item = paired(rng, a, b)
        elif r < 0.9:
            item = joined(rng, a, b)
        elif r < 0.95:
            item = reduced(rng, a)
        else:
            item = image(rng, a)
        if not item or item[1] is None:
            continue
        v = Variable("v%d" % made, item[1], item[2])
        made += 1
        lines.append("%s = %s" % (v, item[0]))
        variables.append(v)
    results = [v.name for v in variables] + asked
    text = "def forward(%s):\n%s\n    return (%s,)\n" % (", ".join(names), "\n".join("    " + line for line in lines) or "    pass", ", ".join(results))
    return {"kind": "program", "name": "layouts", "text": text.replace("F.", "torch.nn.functional."), "setup": "\n".join(setup), "arguments": names, "shares": True}


def layouts(seed, n):
    rng = random.Random(seed + 2000000)
    return [layout_program(rng) for _ in range(n)]
