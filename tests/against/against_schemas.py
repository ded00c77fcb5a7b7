# SPDX-License-Identifier: Apache-2.0
"""Generated calls of all overloads that PyTorch has, from their schemas, for against_samples.py: tensors of any layout, lazily conjugated and negated ones among
them, and sizes, dims and indices that mostly fit. The calls are made to ask what shares memory with what.
"""
import random

SHAPES = [(), (), (0,), (1,), (3,), (4,), (6,), (2, 3), (2, 3), (3, 3), (0, 3), (1, 3), (3, 1), (2, 1, 3), (2, 2, 2), (2, 4, 3, 3), (1, 2, 3, 3), (2, 3, 2, 2, 2)]
DTYPES = ["float32"] * 6 + ["float64", "int64", "int64", "bool", "complex64", "complex64", "uint8", "bfloat16", "int32"]
LAYOUTS = ["rows", "rows", "turned", "last", "offset", "steps", "expanded", "lazy", "lazy"]
SKIP = ("random", "cuda", "cudnn", "mkldnn", "miopen", "mps", "xpu", "hpu", "from_file", "backward", "record_stream", "save", "warn", "format", "retain", "seed", "sym_", "wait", "_fw_primal", "_make_dual", "_unpack_dual",
        "quantize", "_new_zeros", "storage", "set_", "set.", "fbgemm", "_test_", "_nested", "_coalesced", "to_mkldnn", "resize", "_standard_gamma", "_sample_dirichlet", "_fused", "_foreach", "_amp", "data_ptr",
        "_c10d", "symm", "_scaled", "_int_mm", "_flash", "_efficient", "dropout", "get_autocast", "_cslt", "_weight", "_assert", "_print", "dense_dim", "to_dense", "to_sparse", "segment")


def count(shape):
    n = 1
    for size in shape:
        n *= size
    return n


def tensor(torch, rng, want):
    """As against_samples.py writes a tensor down."""
    name, shape = want.get("dtype") or rng.choice(DTYPES), want.get("shape")
    shape = rng.choice(SHAPES) if shape is None else shape
    layout, n, offset = rng.choice(LAYOUTS), len(shape), 0
    order = list(range(n))
    if layout == "turned":
        rng.shuffle(order)
    elif layout == "last" and n > 3:
        order = [0] + order[2:] + [1]
    strides, step = [0] * n, 1
    for i in reversed(order):
        strides[i] = step
        step *= max(shape[i], 1)
    if layout == "steps":
        strides = [2 * s for s in strides]
    elif layout == "expanded" and n and not want["written"]:
        strides[rng.randrange(n)] = 0
    elif layout == "offset":
        offset = 2
    room = offset + 1 + sum((size - 1) * s for size, s in zip(shape, strides)) if count(shape) else offset + 1
    dtype = getattr(torch, name)
    if name == "bool":
        flat = torch.tensor([rng.random() < 0.5 for _ in range(room)])
    elif dtype.is_complex:
        flat = torch.tensor([complex(rng.randint(-9, 9) / 4, rng.randint(-9, 9) / 4) for _ in range(room)], dtype=dtype)
    elif dtype.is_floating_point:
        flat = torch.tensor([rng.randint(-20, 20) / 8 for _ in range(room)], dtype=dtype)
    else:
        flat = torch.tensor([rng.randint(0, 2) for _ in range(room)], dtype=dtype)
    data = bytes(flat.view(torch.uint8).tolist())
    conj, neg = layout == "lazy" and dtype.is_complex, layout == "lazy" and dtype == torch.float32
    return ("tensor", name, tuple(shape), tuple(strides), offset, data, conj, neg)


def sizes(rng, shape):
    """Of a view, mostly."""
    n = count(shape)
    return rng.choice([list(shape), [-1], [n], list(shape[::-1]), [1] + list(shape), list(shape) + [1], [2] + list(shape), [s if s != 1 else 3 for s in shape], list(shape[:-2]) + [-1], [2, -1], [-1, shape[-1] if shape else 1]])


def ints(rng, name, shape, fixed):
    n = len(shape)
    if name in ("size", "shape", "sizes", "input_shape", "target_shape", "shapes"):
        return sizes(rng, shape)
    if name in ("dims", "dim", "source", "destination", "axes", "dim0", "dim1") and n:
        picked = rng.sample(range(n), n if rng.random() < 0.6 else rng.randint(1, n))
        return [d - n if rng.random() < 0.2 else d for d in picked]
    if "split" in name or name == "sections":
        size = shape[0] if shape else 1
        cut = rng.randint(0, size)
        return [cut, size - cut]
    if name == "stride" or name == "strides":
        made, step = [], 1
        for s in reversed(shape):
            made.insert(0, step)
            step *= s
        return rng.choice([made, [1] * n, [1], [2]])
    if name == "indices":
        return sorted(rng.randint(0, 3) for _ in range(rng.randint(0, 2)))
    length = fixed or rng.choice([1, 1, 2, 2, 3])
    return [rng.randint(0, 2) for _ in range(length)]


def argument(torch, rng, a, want):
    kind = str(a.type)
    if kind.startswith("Optional["):
        if rng.random() < 0.6:
            return ("value", None)
        kind = kind[9:-1]
    if a.name in ("memory_format", "layout", "dtype", "device", "pin_memory", "generator"):
        if a.name == "memory_format" and rng.random() < 0.6:
            return ("memory_format", rng.choice(["contiguous_format", "preserve_format", "channels_last"]))
        if a.name == "dtype":
            return ("dtype", want.get("dtype") if rng.random() < 0.4 and want.get("dtype") else rng.choice(DTYPES))
        if a.name == "device" and kind == "Device":
            return ("device", "cpu")
        return ("value", None if a.name != "pin_memory" else False)
    if a.has_default_value() and rng.random() < 0.5 and (a.default_value is None or type(a.default_value) in (bool, int, float, str)):
        return ("value", a.default_value)
    shape = want["first"]
    if kind == "Tensor":
        made = tensor(torch, rng, want)
        if want["first"] is None:
            want["first"] = made[2]
        return made
    if kind in ("List[Tensor]", "List[Optional[Tensor]]"):
        made = [tensor(torch, rng, want) for _ in range(rng.choice([1, 1, 2, 2, 3]))]
        want["first"] = want["first"] or made[0][2]
        return ("list", made)
    if kind == "int":
        n = len(shape or ())
        return ("value", rng.randrange(n) if ("dim" in a.name or "axis" in a.name) and n and rng.random() < 0.9 else rng.choice([0, 1, 1, 2, 2, 3, -1]))
    if kind == "List[int]":
        return ("list", [("value", v) for v in ints(rng, a.name, shape or (), getattr(a, "N", None))])
    if kind == "float":
        return ("value", rng.choice([0.0, 0.5, 1.0, 2.0, -1.5]))
    if kind == "number":
        return ("value", rng.choice([0, 1, 2, -1, 3, 0.5, -2.5]))
    if kind == "bool":
        return ("value", rng.random() < 0.5)
    if kind == "str":
        return ("value", rng.choice(["mean", "sum", "none", "constant", "trunc", "floor", "tanh", "linear", "ij", "amax", "L", "reduced"]))
    return None


def schemas(torch):
    """[(name, schema)] of the overloads that give tensors."""
    found = []
    for s in torch._C._jit_get_all_schemas():
        if not s.name.startswith("aten::") or any(word in s.name[6:] + "." for word in SKIP) or any(a.is_out for a in s.arguments):
            continue
        if any("Tensor" in str(a.type) for a in s.arguments) and any("Tensor" in str(r.type) for r in s.returns):
            found.append(("%s.%s" % (s.name[6:], s.overload_name or "default"), s))
    return sorted(found, key=lambda item: item[0])


def cases_of(torch, schema, args, give, call):
    name = "torch.ops.aten.%s.%s" % (schema.name[6:], schema.overload_name or "default")
    rng = random.Random("%d %s" % (args.seed, name))
    viewing = any(r.alias_info is not None for r in schema.returns)
    good = bad = 0
    for _ in range(60 * args.samples):
        if good >= args.samples * (4 if viewing else 1):
            break
        want = {"written": schema.name.endswith("_"), "first": None, "dtype": rng.choice([None, "float32", rng.choice(DTYPES), rng.choice(DTYPES)]), "shape": rng.choice([None, rng.choice(SHAPES), rng.choice(SHAPES)])}
        given, named = [], {}
        for a in schema.arguments:
            made = argument(torch, rng, a, want)
            if made is None:
                return
            if a.kwarg_only:
                named[a.name] = made
            else:
                given.append(made)
        case = {"name": name, "form": "fn", "dtype": want["dtype"] or "mixed", "args": ("tuple", given), "kwargs": ("dict", named)}
        case["want"] = call(torch, case)
        if "error" in case["want"]:
            bad += 1
            if bad > 2 or not viewing:
                continue
        else:
            good += 1
        give(case)
