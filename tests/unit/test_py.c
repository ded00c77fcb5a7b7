/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_py.c - the compile-time evaluator: Python programs and what their variable x holds (repr),
 * errors and their texts, modules, limits, and every allocation failing in turn. Expectations are
 * what CPython 3.11 prints.
 */
#include "support.h"

#include "frontend/pyeval/core/py.h"
#include "frontend/pyeval/torch/py_torch.h"

typedef struct evaluation {
    arena a;
    interner names;
    diag d;
    py p;
    py_object *module;
    strbuf printed;
} evaluation;

static void evaluation_print(void *ctx, const char *text, size_t len) { sb_write(ctx, text, len); }

/* Modules beside the program. */
static ctsc_status evaluation_module(void *ctx, diag *d, const char *dotted, bool beside,
                                     source **out, bool *is_folder) {
    static const struct {
        const char *dotted, *file, *text;
    } modules[] = {
        {"helper", "helper.py", "VALUE = 7\ndef twice(v):\n    return 2 * v\n_hidden = 1\n"},
        {"pack", "pack/__init__.py", "from .inner import thing\nname = __name__\n"},
        {"pack.inner", "pack/inner.py", "from . import other\nthing = other.base + 1\n"},
        {"pack.other", "pack/other.py", "base = 41\n"},
        {"broken", "broken.py", "def f(:\n"},
        {"raises", "raises.py", "raise ValueError('at import')\n"},
        {"circle_a", "circle_a.py", "import circle_b\na = 1\n"},
        {"circle_b", "circle_b.py", "import circle_a\nb = hasattr(circle_a, 'a')\n"},
        {"plain.part", "plain/part.py", "from . import other\nz = other.z + 1\n"},
        {"plain.other", "plain/other.py", "z = 5\n"},
        {"types", "types.py", "mine = True\n"},
        {"torch", "torch.py", "mine = True\n"},
        {"shutil", "shutil.py", "mine = True\n"},
        {"wants", "wants.py", "import nowhere\nz = 1\n"},
        {"lazy", "lazy.py", "import sys\nclass Lazy:\n    z = 9\nsys.modules[__name__] = Lazy()\n"},
    };
    (void)ctx;
    *is_folder = !strcmp(dotted, "plain");
    if (!beside && !strcmp(dotted, "types"))
        return diag_fail(d, CTSC_INTERNAL, "ctsc's own comes before other folders");
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (!strcmp(modules[i].dotted, dotted)) {
            *out = source_new(modules[i].file, modules[i].text, strlen(modules[i].text));
            return *out ? CTSC_OK : diag_no_memory(d);
        }
    return CTSC_OK;
}

static void evaluation_run(evaluation *e, const char *text) {
    *e = (evaluation){0};
    if (!arena_init(&e->a)) {
        diag_no_memory(&e->d);
        return;
    }
    e->names.a = &e->a;
    py_host host = {
        .ctx = &e->printed, .print = evaluation_print, .read_module = evaluation_module};
    source *src = source_new("test.py", text, strlen(text));
    if (src && py_init(&e->p, &e->a, &e->names, &e->d, &host, &py_torch_library))
        e->module = py_run_module(&e->p, "test", src);
    if (!src) diag_no_memory(&e->d);
    source_unref(src);
}

static void evaluation_free(evaluation *e) {
    py_free(&e->p);
    diag_clear(&e->d);
    interner_free(&e->names);
    arena_free(&e->a);
    sb_free(&e->printed);
}

static void expect_x(const char *text, const char *want) {
    evaluation e;
    evaluation_run(&e, text);
    if (!e.module) fail_msg("%s\nfailed: %s", text, diag_message(&e.d));
    py_object *x = py_dict_get(e.module->u.mod.globals, "x");
    strbuf got = STRBUF_INIT;
    if (!x || !py_str(&e.p, (source_range){0}, x, true, &got))
        fail_msg("%s\nhas no x: %s", text, diag_message(&e.d));
    if (strcmp(sb_str(&got), want)) fail_msg("%s\nx is %s, not %s", text, sb_str(&got), want);
    sb_free(&got);
    evaluation_free(&e);
}

static void expect_error(const char *text, const char *exception, const char *message) {
    evaluation e;
    evaluation_run(&e, text);
    if (e.module) fail_msg("%s\nsucceeded", text);
    if (strcmp(diag_message(&e.d), message))
        fail_msg("%s\nsays \"%s\", not \"%s\"", text, diag_message(&e.d), message);
    if (exception && (!e.d.exception || strcmp(e.d.exception, exception)))
        fail_msg("%s\nraises %s, not %s", text, e.d.exception ? e.d.exception : "nothing",
                 exception);
    evaluation_free(&e);
}

typedef struct snippet {
    const char *text, *want;
} snippet;
#define RUN_SNIPPETS(table)                                                                        \
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) expect_x(table[i].text, table[i].want)

static void test_expressions(void **state) {
    (void)state;
    static const snippet table[] = {
        {"x = 1 + 2 * 3 - -4", "11"},
        {"x = (7 // 2, -7 // 2, 7 % -3, -7.5 // 2, 7.5 % -2, 2 ** 10, 2 ** -1, 7 / 2)",
         "(3, -4, -2, -4.0, -0.5, 1024, 0.5, 3.5)"},
        {"x = (1 << 10, -9 >> 1, 5 & 3, 5 | 3, 5 ^ 3, ~5, True + True, True & False)",
         "(1024, -5, 1, 7, 6, -6, 2, False)"},
        {"x = (1e16, 0.1, 1.0, 1e-5, 1e22, 123456789.123, float('inf'), -0.0, 5e-324)",
         "(1e+16, 0.1, 1.0, 1e-05, 1e+22, 123456789.123, inf, -0.0, 5e-324)"},
        {"x = (1 + 2j) * (3 - 1j), abs(3 + 4j), 1j", "((5+5j), 5.0, 1j)"},
        {"x = 1 < 2 <= 2 != 3 > 2, 1 == 1.0, None is None, 3 in [1, 3], 'a' not in 'bc'",
         "(True, True, True, True, True)"},
        {"x = [] or 'x', 0 and 1, not [], 1 if '' else 2", "('x', 0, True, 2)"},
        {"x = [*range(3), *'ab'], (*[1], 2), {**{'a': 1}, 'b': 2}",
         "([0, 1, 2, 'a', 'b'], (1, 2), {'a': 1, 'b': 2})"},
        {"x = [i * j for i in range(4) if i for j in range(i) if j]", "[2, 3, 6]"},
        {"x = {k: v for k, v in zip('ab', range(2))}, sorted({c for c in 'hello'})",
         "({'a': 0, 'b': 1}, ['e', 'h', 'l', 'o'])"},
        {"x = [last := v for v in range(3)], last", "([0, 1, 2], 2)"},
        {"x = (lambda *a, k=1, **kw: (a, k, kw))(1, 2, k=3, z=4)", "((1, 2), 3, {'z': 4})"},
        {"l = list(range(10))\nx = l[2:8:2], l[::-1], l[-1], 'abc'[::-1], '\\u00e9\\u20ac'[1]",
         "([2, 4, 6], [9, 8, 7, 6, 5, 4, 3, 2, 1, 0], 9, 'cba', '\u20ac')"},
        {"l = [1, 2, 3, 4]\nl[1:3] = 'xyz'\ndel l[0], l[-1]\nl += (9,)\nx = l",
         "['x', 'y', 'z', 9]"},
        {"a, (b, *c), d = 1, (2, 3, 4), 5\n[e, f] = 'xy'\nx = a, b, c, d, e, f",
         "(1, 2, [3, 4], 5, 'x', 'y')"},
        {"w = 8\nv = 3.14159\nx = f'{v:.2f}|{v:{w}.3f}|{w!r}|{w=}|{\"a\":>3}|{{}}'",
         "'3.14|   3.142|8|w=8|  a|{}'"},
        {"x = '%5.2f|%-5d|%05d|%s|%r|%x|%%' % (3.14159, 42, 7, 'a', 'b', 255)",
         "\" 3.14|42   |00007|a|'b'|ff|%\""},
        {"x = '%d|%5d|%+d|%022d|%#d' % (1e19, -0.5, 3e20, -1e19, 1.5)",
         "'10000000000000000000|    0|+300000000000000000000|-010000000000000000000|1'"},
        {"x = []\nfor f, v in ('%d', float('inf')), ('%d', float('nan')), ('%x', 1.5):\n    try:\n "
         "       f % v\n"
         "    except (OverflowError, ValueError, TypeError) as e:\n        x.append(str(e))",
         "['cannot convert float infinity to integer', 'cannot convert float NaN to integer', "
         "'%x format: an integer is required, not float']"},
        {"x = '{} {a} {0[1]} {1!r:>4} {2:,}'.format([1, 2], 'z', 1234567, a=9)",
         "\"[1, 2] 9 2  'z' 1,234,567\""},
        {"x = [1, 2] < [1, 3], (1, 2) == (1, 2), {1, 2} == {2, 1}, {'a': [1]} == {'a': [1.0]}",
         "(True, True, True, True)"},
    };
    RUN_SNIPPETS(table);
}

static void test_builtins(void **state) {
    (void)state;
    static const snippet table[] = {
        {"x = min([3, 1]), max(1, 5, 2), sum([1, 2.5]), any([0, 1]), all([]), abs(-2), divmod(-7, "
         "2), pow(2, "
         "5, 7)",
         "(1, 5, 3.5, True, True, 2, (-4, 1), 4)"},
        {"x = '%*d|%*d|' % (4, 7, -4, 7)", "'   7|7   |'"},
        {"x = pow(-9223372036854775807 - 1, 3, -1), pow(-9223372036854775807 - 1, 1, -7)",
         "(0, -1)"},
        {"x = round(2.675, 2), round(2.5), round(1234, -2), int('ff', 16), float('1e3'), "
         "int(-3.9), bool('')",
         "(2.67, 2, 1200, 255, 1000.0, -3, False)"},
        {"x = sorted([3, 1, 2], key=lambda v: -v), sorted('bca', reverse=True), list(reversed([1, "
         "2]))",
         "([3, 2, 1], ['c', 'b', 'a'], [2, 1])"},
        {"x = list(map(lambda a, b: a + b, [1, 2], [3, 4])), list(filter(None, [0, 1])), "
         "list(enumerate('ab', 1)), "
         "list(zip([1, 2], 'ab'))",
         "([4, 6], [1], [(1, 'a'), (2, 'b')], [(1, 'a'), (2, 'b')])"},
        {"x = isinstance(True, int), isinstance(1, (str, float)), issubclass(KeyError, Exception), "
         "callable(len), type(1) is int",
         "(True, False, True, True, True)"},
        {"x = hex(255), bin(10), chr(8364), ord('a'), repr('a\\'b'), str(None), len('\\u00e9')",
         "('0xff', '0b1010', '\u20ac', 97, '\"a\\'b\"', 'None', 1)"},
        {"x = ' a b '.split(), 'a,b'.split(','), 'x'.join('abc'), 'Hello'.replace('l', 'L', 1), "
         "'abc'.find('c'), 'aXa'.strip('a'), "
         "'ab'.upper(), 'a.b.c'.rsplit('.', 1), 'k=v'.partition('=')",
         "(['a', 'b'], ['a', 'b'], 'axbxc', 'HeLlo', 2, 'X', 'AB', ['a.b', 'c'], ('k', '=', 'v'))"},
        {"l = [3, 1]\nl.append(2); l.sort(); l.insert(1, 9); l.extend([7]); x = l.pop(), l, "
         "l.index(9), "
         "l.count(3)",
         "(7, [1, 9, 2, 3], 1, 1)"},
        {"d = {'a': 1}\nd.update(b=2); d['c'] = 3; del d['a']\nx = d, d.get('z', 0), d.pop('b'), "
         "list(d.items()), d.setdefault('q', 5)",
         "({'c': 3, 'q': 5}, 0, 2, [('c', 3)], 5)"},
        {"d = {}\nfor i in range(100): d[i] = i\nfor i in range(0, 100, 2): del d[i]\nd['k'] = "
         "1\nx = "
         "len(d), d[99], 98 in d, sum(d.values() if 0 else [d[k] for k in d])",
         "(51, 99, False, 2501)"},
        {"s = {1, 2, 3}\ns.add(4); s.discard(1)\nx = sorted(s | {9}), sorted(s & {2}), s <= {2, 3, "
         "4}, len(s "
         "^ s)",
         "([2, 3, 4, 9], [2], True, 0)"},
        {"it = iter([1, 2])\nx = next(it), next(it), next(it, 'end')", "(1, 2, 'end')"},
    };
    RUN_SNIPPETS(table);
}

static void test_functions(void **state) {
    (void)state;
    static const snippet table[] = {
        {"def f(a, b=2, *c, d, e=5, **g): return a, b, c, d, e, g\nx = f(1, d=4), f(*[1, 2, 3], "
         "**{'d': 0, "
         "'z': 9})",
         "((1, 2, (), 4, 5, {}), (1, 2, (3,), 0, 5, {'z': 9}))"},
        {"def outer():\n    n = 1\n    def inner():\n        nonlocal n\n        n += 1\n        "
         "return n\n  "
         "  return inner(), inner(), n\nx = outer()",
         "(2, 3, 3)"},
        {"g = 1\ndef f():\n    global g\n    g = 5\nf()\nx = g", "5"},
        {"def twice(f):\n    def w(*a, **k): return f(*a, **k) * 2\n    return w\n@twice\ndef f(a, "
         "b=1): "
         "return a + b\nx = f(1), f(1, b=4)",
         "(4, 10)"},
        {"def gen(n):\n    for i in range(n):\n        yield i\n    yield from [10, 11]\ng = "
         "gen(2)\nx = "
         "next(g), list(g), list(g)",
         "(0, [1, 10, 11], [])"},
        {"def f(acc=[]):\n    acc.append(len(acc))\n    return acc\nf()\nx = f()", "[0, 1]"},
        {"def f():\n    try:\n        return 'try'\n    finally:\n        "
         "log.append('finally')\nlog = []\nx "
         "= f(), log",
         "('try', ['finally'])"},
        {"def f():\n    out = []\n    for i in range(4):\n        try:\n            if i == 1: "
         "continue\n    "
         "        if i == 3: break\n        finally:\n"
         "            out.append(i)\n    else:\n        out.append('else')\n    return out\nx = "
         "f()",
         "[0, 1, 2, 3]"},
        {"x = []\nfor i in range(2): x.append(i)\nelse: x.append('e')\nwhile x and x[0] == 0: "
         "x.pop(0)\nelse: x.append('w')",
         "[1, 'e', 'w']"},
    };
    RUN_SNIPPETS(table);
}

static void test_classes(void **state) {
    (void)state;
    static const snippet table[] = {
        {"class A:\n    def f(self): return 'A'\nclass B(A):\n    def f(self): return 'B' + "
         "super().f()\nclass C(A):\n    def f(self): return 'C' + "
         "super().f()\nclass D(B, C):\n    def f(self): return 'D' + super(D, self).f()\nx = "
         "D().f(), "
         "[k.__name__ for k in D.__mro__]",
         "('DBCA', ['D', 'B', 'C', 'A', 'object'])"},
        {"class P:\n    def __init__(self): self._v = 1\n    @property\n    def v(self): return "
         "self._v\n    "
         "@v.setter\n    def v(self, n): self._v = n * 2\n"
         "p = P()\np.v = 5\nx = p.v",
         "10"},
        {"class S:\n    n = 0\n    @staticmethod\n    def s(a): return a + 1\n    @classmethod\n   "
         " def "
         "c(cls): return cls.__name__\nclass T(S): pass\nx = S.s(1), T.c(), T().c()",
         "(2, 'T', 'T')"},
        {"class G:\n    def __getattr__(self, n):\n        if n == 'y': return 3\n        raise "
         "AttributeError(n)\n    def __setattr__(self, n, v): "
         "object.__setattr__(self, n, v + 1)\ng = G()\ng.z = 1\nx = g.y, g.z, hasattr(g, 'q'), "
         "getattr(g, "
         "'q', 0)",
         "(3, 2, False, 0)"},
        {"class V:\n    def __init__(self, v): self.v = v\n    def __add__(self, o): return "
         "V(self.v + "
         "o.v)\n    def __radd__(self, o): return V(self.v + o)\n"
         "    def __eq__(self, o): return self.v == o.v\n    def __lt__(self, o): return self.v < "
         "o.v\n    "
         "def __repr__(self): return 'V%d' % self.v\n"
         "    def __len__(self): return self.v\n    def __getitem__(self, i): return i\n    def "
         "__call__(self, a): return a * self.v\n"
         "    def __contains__(self, a): return a == self.v\n    def __iter__(self): return "
         "iter([1, 2])\n   "
         " def __iadd__(self, o): self.v += o; return self\n"
         "a = V(1)\nb = a\nb += 4\nx = V(1) + V(2), 3 + V(1), V(1) == V(1), V(1) != V(2), "
         "sorted([V(2), "
         "V(1)]), bool(V(0)), V(2)[1:2], V(3)(4), 3 in V(3), list(V(0)), a",
         "(V3, V4, True, True, [V1, V2], False, slice(1, 2, None), 12, True, [1, 2], V5)"},
        {"class C:\n    def __enter__(self): log.append('in'); return 5\n    def __exit__(self, t, "
         "v, tb): "
         "log.append(t and t.__name__); return True\nlog = []\n"
         "with C() as c:\n    log.append(c)\n    raise KeyError(1)\nx = log",
         "['in', 5, 'KeyError']"},
        {"class R:\n    made = {}\n    def __new__(cls, k):\n        if k not in cls.made: "
         "cls.made[k] = "
         "super().__new__(cls)\n        return cls.made[k]\n"
         "    def __init__(self, k): self.k = k\nx = R(1) is R(1), R(2).k",
         "(True, 2)"},
        {"class A:\n    y = 2\n    z: int = 3\n    w: 'str'\n    def m(self): return [self.y * i "
         "for i in "
         "range(2)]\nx = A().m(), A.z, type('N', (A,), {'q': 4})().q, A.__annotations__['z'] is "
         "int",
         "([0, 2], 3, 4, True)"},
        {"class A:\n    class B:\n        pass\n    def m(self): pass\nx = A.B.__qualname__, "
         "A.m.__qualname__, A.__module__",
         "('A.B', 'A.m', 'test')"},
    };
    RUN_SNIPPETS(table);
}

static void test_exceptions(void **state) {
    (void)state;
    static const snippet table[] = {
        {"try:\n    raise ValueError('bad', 3)\nexcept (KeyError, ValueError) as e:\n    x = "
         "e.args, str(e), "
         "type(e).__name__, repr(e)",
         "(('bad', 3), \"('bad', 3)\", 'ValueError', \"ValueError('bad', 3)\")"},
        {"class E(ValueError):\n    def __init__(self, c):\n        super().__init__('code %d' % "
         "c)\n        "
         "self.c = c\ntry:\n    try:\n        raise E(5)\n"
         "    except KeyError:\n        x = 0\nexcept ValueError as e:\n    x = str(e), e.c",
         "('code 5', 5)"},
        {"try:\n    try:\n        {}['k']\n    except KeyError:\n        raise\nexcept LookupError "
         "as e:\n   "
         " x = str(e)\nelse:\n    x = 1",
         "\"'k'\""},
        {"x = []\nfor f in (lambda: 1 / 0, lambda: [][1], lambda: None.a, lambda: int('q'), "
         "lambda: "
         "undefined, lambda: 1 + 'a', lambda: len(1)):\n"
         "    try:\n        f()\n    except Exception as e:\n        x.append(type(e).__name__)",
         "['ZeroDivisionError', 'IndexError', 'AttributeError', 'ValueError', 'NameError', "
         "'TypeError', "
         "'TypeError']"},
        {"def r(n): return r(n + 1)\ntry:\n    r(0)\nexcept RecursionError:\n    x = 'deep'",
         "'deep'"},
        {"try:\n    x = 1\nexcept:\n    x = 2\nelse:\n    x = 3\nfinally:\n    x = x, 4", "(3, 4)"},
    };
    RUN_SNIPPETS(table);
    expect_error("x = 1\nraise ValueError('text')", "builtins.ValueError", "ValueError: text");
    expect_error("class E(Exception): pass\nraise E", "test.E", "E");
    expect_error("def f(a): return a.b\nf(3)", "builtins.AttributeError",
                 "AttributeError: 'int' object has no attribute 'b'");
    expect_error("try:\n    1 / 0\nfinally:\n    y = 2", "builtins.ZeroDivisionError",
                 "ZeroDivisionError: division by zero");
    expect_error("try:\n    nope\nexcept KeyError:\n    pass", "builtins.NameError",
                 "NameError: name 'nope' is not defined");
    expect_error("def f(a, b): pass\nf(1)", "builtins.TypeError",
                 "TypeError: f() missing 1 required positional argument: 'b'");
    expect_error("def f(a): pass\nf(1, 2)", "builtins.TypeError",
                 "TypeError: f() takes 1 positional argument but 2 were given");
    expect_error("def f(a): pass\nf(1, c=2)", "builtins.TypeError",
                 "TypeError: f() got an unexpected keyword argument 'c'");
    expect_error("a, b = 1, 2, 3", "builtins.ValueError",
                 "ValueError: too many values to unpack (expected 2)");
    expect_error("x = 2 ** 63", "builtins.OverflowError",
                 "OverflowError: the result does not fit in a 64 bit integer");
    expect_error("assert 1 == 2, 'no %d' % 3", "builtins.AssertionError", "AssertionError: no 3");
    expect_error("class A(complex): pass\nA(1)", NULL,
                 "class 'A' derives from a builtin type, which is not supported");
    expect_error("x = (", NULL, "expected an expression, but found end of line");
}

static void test_modules(void **state) {
    (void)state;
    static const snippet table[] = {
        {"import helper\nimport helper as h\nfrom helper import twice as t, VALUE\nx = "
         "helper.VALUE, "
         "h.twice(2), t(3), VALUE, helper is h",
         "(7, 4, 6, 7, True)"},
        {"from helper import *\nx = VALUE, '_hidden' in globals()", "(7, False)"},
        {"import pack.inner\nimport pack.other as o\nx = pack.thing, pack.inner.thing, o.base, "
         "pack.name",
         "(42, 42, 41, 'pack')"},
        {"from pack import other\nx = other.base", "41"},
        {"import circle_a, circle_b\nx = circle_a.a, circle_b.b", "(1, False)"},
        {"try:\n    import nowhere.at_all\nexcept ImportError as e:\n    x = str(e)",
         "\"No module named 'nowhere'\""},
        {"try:\n    from helper import nothing\nexcept ImportError as e:\n    x = str(e)",
         "\"cannot import name 'nothing' from 'helper'\""},
        {"x = []\nfor _ in range(2):\n    try:\n        import raises\n    except ValueError as "
         "e:\n        "
         "x.append(str(e))",
         "['at import', 'at import']"},
        {"x = __name__\nif __name__ == '__main__':\n    x = 0", "'test'"},
        {"import plain.part\nfrom plain import other\nx = plain.part.z, other.z", "(6, 5)"},
        {"import types, shutil, torch\nx = types.mine, shutil.mine, hasattr(torch, 'mine')",
         "(True, True, False)"},
        {"import lazy\nfrom lazy import z\nimport sys\nx = lazy.z, z, sys.modules['lazy'] is lazy, "
         "'helper' in sys.modules",
         "(9, 9, True, False)"},
        /* what is not found, and not used */
        {"import nowhere\nimport nowhere.deep.down as n\nfrom elsewhere import thing, other as "
         "o\nx = 1",
         "1"},
        {"import nowhere\nx = isinstance(3, nowhere.Kind), isinstance(3, (nowhere.Kind, int))",
         "(False, True)"},
        {"import nowhere\nclass A:\n    pass\nclass B(nowhere.Base):\n    pass\nclass C(A, "
         "nowhere.Mixin):\n    "
         "def __init__(self):\n        self.v = 3\nx = C().v, isinstance(C(), A)",
         "(3, True)"},
        {"from nowhere import *\nx = 1", "1"},
        {"import typing, nowhere\nAlias = typing.Optional[nowhere.Tensor[3]]\ndef f(a: nowhere.T) "
         "-> Alias:\n    return a\nx = f(2)",
         "2"},
        /* who asks is told, whichever clause would catch it, and however deep the import is */
        {"import nowhere\ntry:\n    import nowhere\n    x = 1\nexcept ImportError:\n    x = 2",
         "2"},
        {"try:\n    import nowhere\n    x = 1\nexcept:\n    x = 2", "2"},
        {"try:\n    import nowhere\n    x = 1\nexcept (ValueError, ModuleNotFoundError):\n    x = "
         "2",
         "2"},
        {"try:\n    import nowhere\n    x = 1\nexcept ValueError:\n    x = 2", "1"},
        {"try:\n    import wants\n    x = 1\nexcept Exception:\n    x = 2", "2"},
        {"def f():\n    import nowhere\ntry:\n    f()\n    x = 1\nexcept ImportError:\n    x = 2",
         "2"},
        {"try:\n    x = 1\nexcept ImportError:\n    pass\nelse:\n    import nowhere", "1"},
    };
    RUN_SNIPPETS(table);
    static const char *const uses[] = {"nowhere()",
                                       "nowhere.a.b(1)",
                                       "class C(nowhere.Base):\n    pass\nC()",
                                       "for i in nowhere:\n    pass",
                                       "@nowhere.wrap\ndef f():\n    pass",
                                       "x = [*nowhere.items]"};
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        char text[128];
        snprintf(text, sizeof text, "import nowhere\n%s", uses[i]);
        expect_error(text, "builtins.ModuleNotFoundError",
                     "ModuleNotFoundError: No module named 'nowhere'");
    }
    expect_error("import broken", "builtins.SyntaxError",
                 "expected a name after the parameters before it, but found ':'");
}

static void test_print(void **state) {
    (void)state;
    evaluation e;
    evaluation_run(&e, "print(1, 'a', [None], 2.0)\nprint('x', 'y', sep='-', end='!')\nprint()");
    assert_non_null(e.module);
    assert_string_equal(sb_str(&e.printed), "1 a [None] 2.0\nx-y!\n");
    evaluation_free(&e);
}

/* Frames: who called whom, innermost first; the error's own place. */
static void test_frames(void **state) {
    (void)state;
    evaluation e;
    evaluation_run(
        &e,
        "class A:\n    def m(self):\n        return 1 / 0\ndef f():\n    return A().m()\nf()\n");
    assert_null(e.module);
    strbuf text = STRBUF_INIT;
    diag_render(&e.d, &text, false);
    assert_non_null(strstr(sb_str(&text), "test.py:3:16"));
    assert_non_null(strstr(sb_str(&text), "called from f at test.py:5:12"));
    assert_non_null(strstr(sb_str(&text), "called from <module> at test.py:6:1"));
    sb_free(&text);
    evaluation_free(&e);
}

static void test_limits(void **state) {
    (void)state;
    static const char *const texts[] = {
        "x = list(range(10 ** 12))",   "x = [0] * (10 ** 10)",
        "x = 'ab' * (10 ** 12)",       "x = ' '.join(['a' * 1000000] * 100)",
        "x = '%999999999d' % 1",       "x = f'{1:999999999}'",
        "l = [1]\nwhile True: l += l", "s = 'a'\nwhile True: s += s",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        evaluation e;
        evaluation_run(&e, texts[i]);
        if (e.module) fail_msg("%s\nsucceeded", texts[i]);
        assert_true(e.d.status == CTSC_FAILED || e.d.status == CTSC_LIMIT);
        evaluation_free(&e);
    }
    expect_error("class A:\n    def __repr__(self): return repr(self)\nx = repr(A())",
                 "builtins.RecursionError", "RecursionError: maximum recursion depth exceeded");
    expect_error("l = []\nfor i in range(5000): l = [l]\nx = repr(l)", "builtins.RecursionError",
                 "RecursionError: maximum recursion depth exceeded");
    expect_error("l = []\nl.append(l)\nx = repr(l)", "builtins.RecursionError",
                 "RecursionError: maximum recursion depth exceeded");
    expect_x("l = []\nl.append(l)\nm = []\nm.append(m)\nx = len(l), l == l", "(1, True)");
}

/* ---- allocations that fail ------------------------------------------------------------------------------
 */

static counting count;

static const char faults_program[] =
    "import helper\nfrom pack import thing\n"
    "class A:\n    n: int = 1\n    def __init__(self, v): self.v = v\n    "
    "@property\n    def twice(self): return self.v * 2\n"
    "    def __getattr__(self, n):\n        raise AttributeError(n)\n"
    "class B(A):\n    def __init__(self, v):\n        super().__init__(v)\n "
    "       self.d = {k: k * 2 for k in range(20)}\n"
    "def gen(n):\n    for i in range(n): yield [i, str(i)]\n"
    "b = B(3)\ntry:\n    raise ValueError('t' * 100)\nexcept ValueError as "
    "e:\n    s = str(e)\nfinally:\n    s = s + 'x'\n"
    "with_default = getattr(b, 'missing', f'{b.twice:>5} {s!r}')\n"
    "x = sorted(list(gen(12)), key=lambda p: -p[0])[:2], '%s %d' % ('a', "
    "1), ' a b'.split(), {1, 2} | {3}, thing, helper.twice(2), b.d[19]\n";

static ctsc_status faults_cycle(void) {
    evaluation e;
    evaluation_run(&e, faults_program);
    ctsc_status s = e.module ? CTSC_OK : e.d.status;
    if (e.module && arena_failed(&e.a)) s = CTSC_LIMIT;
    evaluation_free(&e);
    return s;
}

static void test_faults(void **state) {
    (void)state;
    assert_int_equal(faults_cycle(), CTSC_OK);
    long live = count.live;
    count.requests = 0;
    assert_int_equal(faults_cycle(), CTSC_OK);
    long total = count.requests;
    assert_int_equal(count.live, live);
    for (int sticky = 0; sticky < 2; sticky++)
        for (long k = 1; k <= total; k++) {
            count.requests = 0;
            count.sticky = sticky;
            count.fail_at = k;
            ctsc_status s = faults_cycle();
            count.fail_at = 0;
            if (s != CTSC_LIMIT && s != CTSC_OK && s != CTSC_FAILED)
                fail_msg("allocation %ld of %ld: status %d", k, total, s);
            if (count.live != live)
                fail_msg("allocation %ld of %ld: %ld blocks leaked", k, total,
                         (long)count.live - live);
        }
    assert_int_equal(faults_cycle(), CTSC_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions), cmocka_unit_test(test_builtins),
        cmocka_unit_test(test_functions),   cmocka_unit_test(test_classes),
        cmocka_unit_test(test_exceptions),  cmocka_unit_test(test_modules),
        cmocka_unit_test(test_print),       cmocka_unit_test(test_frames),
        cmocka_unit_test(test_limits),      cmocka_unit_test(test_faults),
    };
    mem_set_hook(counting_hook, &count);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
