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

def numel__sizes(self: List[int]) -> int:
    return int(torch.item(torch.prod(torch.tensor(self, dtype=4))))

# x.norm(dim=-1): PyTorch's method has a default for p, its operators have none.
def norm__dim(self: Tensor, *, dim: int, keepdim: bool=False) -> Tensor:
    return torch.norm(self, 2, [dim], keepdim)

def norm__dims(self: Tensor, *, dim: List[int], keepdim: bool=False) -> Tensor:
    return torch.norm(self, 2, dim, keepdim)

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

# The decimal digits of a finite number >= 0, all of them, and how many of them follow the point. A number is
# m * 2**e: with a negative e that is m * 5**-e / 10**-e. The long integer is a list of limbs, nine digits each.
def decimal_digits(x: float) -> Tuple[str, int]:
    part, exponent = math.frexp(x)
    m = int(part * 9007199254740992.0)
    e = exponent - 53
    while e < 0 and m % 2 == 0 and m > 0:
        m = m // 2
        e = e + 1
    decimals = 0
    limbs = [m % 1000000000, m // 1000000000]
    factor = 2
    batch = 29
    left = e
    if e < 0:
        decimals = -e
        factor = 5
        batch = 13
        left = -e
    while left > 0:
        step = batch
        if left < batch:
            step = left
        left = left - step
        by = 1
        for i in range(step):
            by = by * factor
        carry = 0
        for i in range(len(limbs)):
            v = limbs[i] * by + carry
            limbs[i] = v % 1000000000
            carry = v // 1000000000
        while carry > 0:
            limbs.append(carry % 1000000000)
            carry = carry // 1000000000
    digits = ""
    for limb in limbs:
        digits = str(limb).zfill(9) + digits
    return digits.lstrip("0"), decimals

# A decimal number without its last n digits, rounded half to even.
def decimal_cut(digits: str, n: int) -> str:
    text = digits
    if n > 0:
        text = digits.zfill(n)
        rest = text[len(text) - n:]
        text = text[:len(text) - n]
        half = "5".ljust(n, "0")
        up = rest > half
        if rest == half and len(text) > 0:
            up = ord(text[len(text) - 1:]) % 2 == 1
        if up:
            nines = text.rstrip("9")
            zeros = len(text) - len(nines)
            last = "1"
            if len(nines) > 0:
                last = nines[:len(nines) - 1] + chr(ord(nines[len(nines) - 1:]) + 1)
            text = last.ljust(len(last) + zeros, "0")
    return text

# "nan" and "inf" with their sign, or an empty string
def format_special(x: float) -> str:
    text = ""
    if math.isnan(x):
        text = "nan"
    elif math.isinf(x):
        text = "inf"
        if x < 0.0:
            text = "-inf"
    return text

# x with `digits` decimals: format(x, ".2f")
def format_fixed(x: float, digits: int) -> str:
    text = __torch__.ctsc.builtins.format_special(x)
    if text == "":
        all, decimals = __torch__.ctsc.builtins.decimal_digits(math.fabs(x))
        cut = decimals - digits
        if cut > 0:
            text = __torch__.ctsc.builtins.decimal_cut(all, cut)
        else:
            text = all.ljust(len(all) - cut, "0")
        text = text.zfill(digits + 1)
        if digits > 0:
            text = text[:len(text) - digits] + "." + text[len(text) - digits:]
        if math.copysign(1.0, x) < 0.0:
            text = "-" + text
    return text

# "%4d" % x: all digits of int(x), which may be more than an int has
def format_whole(x: float) -> str:
    if math.isnan(x):
        raise ValueError("cannot convert float NaN to integer")
    if math.isinf(x):
        raise OverflowError("cannot convert float infinity to integer")
    return __torch__.ctsc.builtins.format_fixed(x - math.fmod(x, 1.0) + 0.0, 0)

# `digits` significant digits of a finite number >= 0, and the power of ten of the first
def decimal_significant(x: float, digits: int) -> Tuple[str, int]:
    all, decimals = __torch__.ctsc.builtins.decimal_digits(x)
    exponent = 0
    text = all
    if len(all) > 0:
        exponent = len(all) - 1 - decimals
        if len(all) > digits:
            text = __torch__.ctsc.builtins.decimal_cut(all, len(all) - digits)
        if len(text) > digits:
            text = text[:digits]
            exponent = exponent + 1
    return text.ljust(digits, "0"), exponent

def format_power(digits: str, exponent: int) -> str:
    text = digits[:1]
    if len(digits) > 1:
        text = text + "." + digits[1:]
    if exponent < 0:
        text = text + "e-" + str(-exponent).zfill(2)
    else:
        text = text + "e+" + str(exponent).zfill(2)
    return text

# format(x, ".3e")
def format_exponent(x: float, digits: int) -> str:
    text = __torch__.ctsc.builtins.format_special(x)
    if text == "":
        significant, exponent = __torch__.ctsc.builtins.decimal_significant(math.fabs(x), digits + 1)
        text = __torch__.ctsc.builtins.format_power(significant, exponent)
        if math.copysign(1.0, x) < 0.0:
            text = "-" + text
    return text

# format(x, ".3g"); point: format(x, ".3"), which shows a digit after the point
def format_general(x: float, precision: int, point: bool) -> str:
    text = __torch__.ctsc.builtins.format_special(x)
    if text == "":
        p = precision
        if p < 1:
            p = 1
        significant, exponent = __torch__.ctsc.builtins.decimal_significant(math.fabs(x), p)
        least = p
        if point:
            least = p - 1
        if exponent < -4 or exponent >= least:
            shown = significant.rstrip("0")
            if shown == "":
                shown = "0"
            text = __torch__.ctsc.builtins.format_power(shown, exponent)
        else:
            if exponent < 0:
                significant = significant.rjust(len(significant) - exponent, "0")
                exponent = 0
            text = significant[:exponent + 1]
            tail = significant[exponent + 1:].rstrip("0")
            if len(tail) > 0:
                text = text + "." + tail
            elif point:
                text = text + ".0"
        if math.copysign(1.0, x) < 0.0:
            text = "-" + text
    return text

# text in a field of that width; align: "<", ">", "^", "=".
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
    out = text.replace(chr(92), chr(92) + chr(92)).replace("\n", chr(92) + "n")
    out = out.replace(chr(13), chr(92) + "r").replace(chr(9), chr(92) + "t")
    if quote == "'":
        out = out.replace("'", chr(92) + "'")
    return quote + out + quote

def round_digits(x: float, digits: int) -> float:
    out = x
    if math.isfinite(x) and digits < 324:
        if digits >= 0:
            out = float(__torch__.ctsc.builtins.format_fixed(x, digits))
        else:
            all, decimals = __torch__.ctsc.builtins.decimal_digits(math.fabs(x))
            text = __torch__.ctsc.builtins.decimal_cut(all, decimals - digits)
            out = math.copysign(float("0" + text + "e" + str(-digits)), x)
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

def complex_real(x: complex) -> float:
    return float(torch.item(torch.select(torch.view_as_real(torch.tensor(x, dtype=10)), 0, 0)))

def complex_imag(x: complex) -> float:
    return float(torch.item(torch.select(torch.view_as_real(torch.tensor(x, dtype=10)), 0, 1)))

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

def prod(iterable: List[int], *, start: int=1) -> int:
    out = start
    for n in iterable:
        out = out * n
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
