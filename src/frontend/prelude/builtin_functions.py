# SPDX-License-Identifier: Apache-2.0
# Builtins written in TorchScript; embedded in the library (builtin_functions.c).
#
# NAME__VARIANT is a further overload of the operator aten::NAME and is inlined at its call. The others do what no operator
# does; programs call them as functions of the module __torch__.ctsc.builtins, and archives carry those they use.

# ---- a number and a tensor --------------------------------------------------------------------------

def mul__float(a: float, b: Tensor) -> Tensor:
    return b * a

def add__float(a: float, b: Tensor) -> Tensor:
    return b + a

def ne__float(a: float, b: Tensor) -> Tensor:
    return b != a

def eq__float(a: float, b: Tensor) -> Tensor:
    return b == a

def sub__float(a: float, b: Tensor) -> Tensor:
    return torch.neg(b) + a

def div__float(a: float, b: Tensor) -> Tensor:
    return torch.reciprocal(b) * a

def lt__float(a: float, b: Tensor) -> Tensor:
    return b > a

def le__float(a: float, b: Tensor) -> Tensor:
    return b >= a

def gt__float(a: float, b: Tensor) -> Tensor:
    return b < a

def ge__float(a: float, b: Tensor) -> Tensor:
    return b <= a

def mul__int(a: int, b: Tensor) -> Tensor:
    return b * a

def add__int(a: int, b: Tensor) -> Tensor:
    return b + a

def ne__int(a: int, b: Tensor) -> Tensor:
    return b != a

def eq__int(a: int, b: Tensor) -> Tensor:
    return b == a

def sub__int(a: int, b: Tensor) -> Tensor:
    return torch.neg(b) + a

def div__int(a: int, b: Tensor) -> Tensor:
    return torch.reciprocal(b) * a

def lt__int(a: int, b: Tensor) -> Tensor:
    return b > a

def le__int(a: int, b: Tensor) -> Tensor:
    return b >= a

def gt__int(a: int, b: Tensor) -> Tensor:
    return b < a

def ge__int(a: int, b: Tensor) -> Tensor:
    return b <= a

def mul__complex(a: complex, b: Tensor) -> Tensor:
    return b * a

def add__complex(a: complex, b: Tensor) -> Tensor:
    return b + a

def ne__complex(a: complex, b: Tensor) -> Tensor:
    return b != a

def eq__complex(a: complex, b: Tensor) -> Tensor:
    return b == a

def sub__complex(a: complex, b: Tensor) -> Tensor:
    return torch.neg(b) + a

def div__complex(a: complex, b: Tensor) -> Tensor:
    return torch.reciprocal(b) * a

def floordiv__number(self: Tensor, other: number) -> Tensor:
    return torch.floor_divide(self, other)

def floordiv__tensor(self: Tensor, other: Tensor) -> Tensor:
    return torch.floor_divide(self, other)

# ---- more forms of operators --------------------------------------------------------------------------

def __contains____str(self: str, key: str) -> bool:
    return torch.find(self, key, 0, torch.len(self)) != -1

def device__type(type: str) -> Device:
    return torch.device(type)

def _assert__bool(condition: bool, message: str) -> None:
    assert condition, message

def _assert_int_or_pair__list(vals: List[int], name: str, message: str) -> None:
    pass

def list_with_default__int(out_size: List[int], defaults: List[int]) -> List[int]:
    assert torch.len(defaults) > torch.len(out_size)
    return out_size

# One number stands for N of them: builtin_functions.c says so in the schemas.

def _single__float(x: List[float]) -> List[float]:
    return x

def _single__int(x: List[int]) -> List[int]:
    return x

def _pair__float(x: List[float]) -> List[float]:
    return x

def _pair__int(x: List[int]) -> List[int]:
    return x

def _triple__float(x: List[float]) -> List[float]:
    return x

def _triple__int(x: List[int]) -> List[int]:
    return x

def _quadruple__float(x: List[float]) -> List[float]:
    return x

def _quadruple__int(x: List[int]) -> List[int]:
    return x

# ---- what no operator does ---------------------------------------------------------------------------

# x with `digits` decimals, correctly rounded (half to even): format(x, ".2f"). digits <= 15. The part after the
# point times 10**digits is computed as p + err without a rounding error, so that ties are told apart.
def format_fixed(x: float, digits: int) -> str:
    text = ""
    negative = math.copysign(1.0, x) < 0.0
    a = math.fabs(x)
    if math.isnan(x):
        text = "nan"
        negative = False
    elif math.isinf(x):
        text = "inf"
    elif a >= 4503599627370496.0:
        text = "%f" % a
        text = text[:-7]
        if digits > 0:
            text = text + "." + "0".ljust(digits, "0")
    else:
        whole = int(a)
        part = a - float(whole)
        scale = math.pow(10.0, float(digits))
        p = part * scale
        t = 134217729.0 * part
        part_high = t - (t - part)
        part_low = part - part_high
        t = 134217729.0 * scale
        scale_high = t - (t - scale)
        scale_low = scale - scale_high
        err = part_high * scale_high - p
        err = err + part_high * scale_low
        err = err + part_low * scale_high
        err = err + part_low * scale_low
        q = int(p)
        rest = p - float(q)
        odd = q % 2 == 1
        if digits == 0:
            odd = whole % 2 == 1
        up = rest > 0.5
        if rest == 0.5:
            up = err > 0.0
            if err == 0.0:
                up = odd
        if up:
            q = q + 1
        if float(q) >= scale:
            q = 0
            whole = whole + 1
        text = str(whole)
        if digits > 0:
            text = text + "." + str(q).zfill(digits)
    if negative:
        text = "-" + text
    return text

# text, a number's if `number`, in a field of that width; align: "<", ">", "^", "=".
def format_pad(text: str, width: int, align: str, fill: str) -> str:
    out = text
    if align == "<":
        out = text.ljust(width, fill)
    elif align == ">":
        out = text.rjust(width, fill)
    elif align == "^":
        n = len(text)
        if width > n:
            out = text.ljust(n + (width - n + 1) // 2, fill).rjust(width, fill)
    else:
        head = 0
        if text.startswith("-") or text.startswith("+") or text.startswith(" "):
            head = 1
        if text[head:].startswith("0x") or text[head:].startswith("0b") or text[head:].startswith("0o") or text[head:].startswith("0X"):
            head = head + 2
        out = text[:head] + text[head:].rjust(width - head, fill)
    return out

# A sign in front of numbers that have none; with group: "," or "_" between digits of the whole part.
def format_sign(text: str, sign: str) -> str:
    out = text
    if not text.startswith("-"):
        out = sign + text
    return out

def format_group(text: str, separator: str) -> str:
    sign = ""
    rest = text
    if text.startswith("-") or text.startswith("+"):
        sign = text[:1]
        rest = text[1:]
    point = rest.find(".")
    tail = ""
    if point >= 0:
        tail = rest[point:]
        rest = rest[:point]
    out = ""
    if rest.isdigit():
        while len(rest) > 3:
            out = separator + rest[len(rest) - 3:] + out
            rest = rest[:len(rest) - 3]
    return sign + rest + out + tail

# repr(text), for strings of ASCII characters
def repr_str(text: str) -> str:
    quote = "'"
    if text.find("'") >= 0 and text.find('"') < 0:
        quote = '"'
    out = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    if quote == "'":
        out = out.replace("'", "\\'")
    return quote + out + quote

def round_digits(x: float, digits: int) -> float:
    out = x
    if digits > 15:
        raise ValueError("round() with more than 15 digits is not supported")
    if math.isfinite(x):
        if digits >= 0:
            out = float(format_fixed(x, digits))
        else:
            a = math.fabs(x)
            if a >= 9007199254740992.0 or digits < -15:
                raise ValueError("round() of a number of this size is not supported")
            whole = int(a)
            q = round_int(whole, digits)
            part = a - float(whole)
            unit = int(math.pow(10.0, float(-digits)))
            if part > 0.0 and (whole % unit) * 2 == unit and q < whole:
                q = q + unit
            out = math.copysign(float(q), x)
    return out

def round_int(x: int, digits: int) -> int:
    out = x
    if digits < -18:
        out = 0
    elif digits < 0:
        unit = 1
        for i in range(-digits):
            unit = unit * 10
        q = x // unit
        rest = x - q * unit
        if rest * 2 > unit or (rest * 2 == unit and q % 2 == 1):
            q = q + 1
        out = q * unit
    return out

def log2(x: float) -> float:
    return float(torch.item(torch.log2(torch.tensor(x, dtype=7))))

def exp2(x: float) -> float:
    return math.pow(2.0, x)

def hypot(x: float, y: float) -> float:
    return float(torch.item(torch.hypot(torch.tensor(x, dtype=7), torch.tensor(y, dtype=7))))

def trunc(x: float) -> int:
    return int(x)

def isclose(a: float, b: float, *, rel_tol: float=1e-09, abs_tol: float=0.0) -> bool:
    close = a == b
    if not close and not math.isinf(a) and not math.isinf(b):
        d = math.fabs(b - a)
        close = d <= math.fabs(rel_tol * b) or d <= math.fabs(rel_tol * a) or d <= abs_tol
    return close

def lcm(a: int, b: int) -> int:
    out = 0
    if a != 0 and b != 0:
        out = a // math.gcd(a, b) * b
        if out < 0:
            out = -out
    return out

def isqrt(n: int) -> int:
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    x = int(math.sqrt(float(n)))
    while x * x > n:
        x = x - 1
    while (x + 1) * (x + 1) <= n:
        x = x + 1
    return x

def comb(n: int, k: int) -> int:
    if n < 0 or k < 0:
        raise ValueError("n must be a non-negative integer")
    out = 1
    for i in range(k):
        out = out * (n - i) // (i + 1)
    return out

def perm(n: int, k: int) -> int:
    if n < 0 or k < 0:
        raise ValueError("n must be a non-negative integer")
    out = 1
    for i in range(k):
        out = out * (n - i)
    return out

def parse_int(text: str, base: int) -> int:
    s = text.strip().lower().replace("_", "")
    negative = s.startswith("-")
    if negative or s.startswith("+"):
        s = s[1:]
    radix = base
    if s.startswith("0x") and (base == 16 or base == 0):
        s = s[2:]
        radix = 16
    elif s.startswith("0o") and (base == 8 or base == 0):
        s = s[2:]
        radix = 8
    elif s.startswith("0b") and (base == 2 or base == 0):
        s = s[2:]
        radix = 2
    elif base == 0:
        radix = 10
    bad = len(s) == 0 or radix < 2 or radix > 36
    out = 0
    for c in s:
        d = "0123456789abcdefghijklmnopqrstuvwxyz".find(c)
        if d < 0 or d >= radix:
            bad = True
        out = out * radix + d
    if bad:
        raise ValueError("invalid literal for int() with base " + str(base) + ": '" + text + "'")
    if negative:
        out = -out
    return out
