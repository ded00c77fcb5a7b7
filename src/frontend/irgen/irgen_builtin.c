/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irgen_builtin.c - the meaning of builtin names: Python's builtins, math, torch, and the names
 * that archives use.
 *
 * One table says what each name is: an operator, a cast, a helper written in TorchScript, or a
 * form whose arguments are types, unevaluated, or no values (irgen_special.c). The names are
 * Python's, with dots.
 * Tests: tests/corpus, tests/lang
 */
#include "frontend/irgen/irgen_special.h"

typedef struct builtin_row {
    const char *name; /* Python's */
    int form;         /* SPECIAL_NONE: a plain operator */
    const char *op;   /* the operator, helper or method */
} builtin_row;

#define OP_ROW(name, op) {name, SPECIAL_NONE, op},
#define FORM_ROW(name, form) {name, SPECIAL_##form, name},
#define HELPER_ROW(name, helper) {name, SPECIAL_HELPER, helper},

/* clang-format off */
static const builtin_row builtin_table[] = {
    /* Python's */
    {"len", SPECIAL_MAGIC, "aten::len"},       {"hex", SPECIAL_MAGIC, "aten::hex"},
    {"oct", SPECIAL_MAGIC, "aten::oct"},       {"round", SPECIAL_ROUND, "aten::round"},
    {"abs", SPECIAL_MAGIC, "prim::abs"},       {"hash", SPECIAL_MAGIC, "aten::hash"},
    {"bin", SPECIAL_MAGIC, "aten::bin"},       {"min", SPECIAL_MINMAX, "prim::min"},
    {"max", SPECIAL_MINMAX, "prim::max"},      {"sum", SPECIAL_SUM, "aten::sum"},
    {"sorted", SPECIAL_SORTED, "aten::sorted"},
    OP_ROW("id", "prim::id")           OP_ROW("all", "aten::all")         OP_ROW("any", "aten::any")
    OP_ROW("divmod", "aten::divmod")   OP_ROW("ord", "aten::ord")         OP_ROW("chr", "aten::chr")
    OP_ROW("pow", "aten::pow")
    FORM_ROW("isinstance", ISINSTANCE) FORM_ROW("getattr", GETATTR)       FORM_ROW("hasattr", HASATTR)
    FORM_ROW("print", PRINT)           FORM_ROW("range", RANGE)           FORM_ROW("enumerate", ENUMERATE)
    FORM_ROW("zip", ZIP)               FORM_ROW("reversed", REVERSED)     FORM_ROW("slice", SLICE)
    FORM_ROW("map", MAP)               FORM_ROW("filter", FILTER)
    FORM_ROW("list", LIST)             FORM_ROW("tuple", TUPLE)           FORM_ROW("dict", DICT)
    FORM_ROW("int", INT)               FORM_ROW("float", FLOAT)           FORM_ROW("bool", BOOL)
    FORM_ROW("str", STR)               FORM_ROW("complex", COMPLEX)
    {"collections.OrderedDict", SPECIAL_DICT, "dict"},
    /* archives' */
    FORM_ROW("annotate", ANNOTATE)     FORM_ROW("unchecked_cast", UNCHECKED_CAST)
    FORM_ROW("uninitialized", UNINITIALIZED) FORM_ROW("fork", FORK)
    /* typing, torch.jit, warnings */
    FORM_ROW("torch.jit.annotate", ANNOTATE)   FORM_ROW("typing.cast", CAST_TYPE)
    FORM_ROW("torch.jit.isinstance", ISINSTANCE) FORM_ROW("torch.jit.fork", FORK)
    FORM_ROW("torch.jit._fork", FORK)          FORM_ROW("torch.jit.is_scripting", TRUE)
    FORM_ROW("torch.jit._script.is_scripting", TRUE) FORM_ROW("torch._jit_internal.is_scripting", TRUE)
    FORM_ROW("torch.jit.unused", IDENTITY)     FORM_ROW("torch.jit.export", IDENTITY)
    FORM_ROW("torch.jit.ignore", IDENTITY)     FORM_ROW("torch.autograd.Variable", IDENTITY)
    /* tensors of a dtype */
    {"torch.ByteTensor", SPECIAL_TYPED_TENSOR, "uint8"},   {"torch.CharTensor", SPECIAL_TYPED_TENSOR, "int8"},
    {"torch.ShortTensor", SPECIAL_TYPED_TENSOR, "int16"},  {"torch.IntTensor", SPECIAL_TYPED_TENSOR, "int32"},
    {"torch.LongTensor", SPECIAL_TYPED_TENSOR, "int64"},   {"torch.HalfTensor", SPECIAL_TYPED_TENSOR, "float16"},
    {"torch.FloatTensor", SPECIAL_TYPED_TENSOR, "float32"}, {"torch.DoubleTensor", SPECIAL_TYPED_TENSOR, "float64"},
    {"torch.BoolTensor", SPECIAL_TYPED_TENSOR, "bool"},    {"torch.BFloat16Tensor", SPECIAL_TYPED_TENSOR, "bfloat16"},
    OP_ROW("torch.jit.wait", "aten::wait")     OP_ROW("torch.jit._wait", "aten::wait")
    OP_ROW("torch.jit._unwrap_optional", "aten::_unwrap_optional")
    OP_ROW("torch._jit_internal._unwrap_optional", "aten::_unwrap_optional")
    FORM_ROW("warnings.warn", WARN)            FORM_ROW("torch.device", DEVICE)
    FORM_ROW("torch.overrides.has_torch_function", FALSE) FORM_ROW("torch.overrides.has_torch_function_unary", FALSE)
    FORM_ROW("torch.overrides.has_torch_function_variadic", FALSE)
    FORM_ROW("torch.overrides.is_tensor_like", TRUE)
    /* math */
    OP_ROW("math.ceil", "aten::ceil")          OP_ROW("math.copysign", "aten::copysign")
    OP_ROW("math.erf", "aten::erf")            OP_ROW("math.erfc", "aten::erfc")
    OP_ROW("math.exp", "aten::exp")            OP_ROW("math.expm1", "aten::expm1")
    OP_ROW("math.fabs", "aten::fabs")          OP_ROW("math.floor", "aten::floor")
    OP_ROW("math.gamma", "aten::gamma")        OP_ROW("math.lgamma", "aten::lgamma")
    OP_ROW("math.log", "aten::log")            OP_ROW("math.log10", "aten::log10")
    OP_ROW("math.log1p", "aten::log1p")        OP_ROW("math.pow", "aten::pow")
    OP_ROW("math.sqrt", "aten::sqrt")          OP_ROW("math.isnan", "aten::isnan")
    OP_ROW("math.isinf", "aten::isinf")        OP_ROW("math.isfinite", "aten::isfinite")
    OP_ROW("math.sinh", "aten::sinh")          OP_ROW("math.cosh", "aten::cosh")
    OP_ROW("math.tanh", "aten::tanh")          OP_ROW("math.asinh", "aten::asinh")
    OP_ROW("math.acosh", "aten::acosh")        OP_ROW("math.atanh", "aten::atanh")
    OP_ROW("math.sin", "aten::sin")            OP_ROW("math.cos", "aten::cos")
    OP_ROW("math.tan", "aten::tan")            OP_ROW("math.asin", "aten::asin")
    OP_ROW("math.acos", "aten::acos")          OP_ROW("math.atan", "aten::atan")
    OP_ROW("math.atan2", "aten::atan2")        OP_ROW("math.fmod", "aten::fmod")
    OP_ROW("math.modf", "aten::modf")          OP_ROW("math.frexp", "aten::frexp")
    OP_ROW("math.ldexp", "aten::ldexp")        OP_ROW("math.factorial", "aten::factorial")
    OP_ROW("math.degrees", "aten::degrees")    OP_ROW("math.radians", "aten::radians")
    OP_ROW("math.gcd", "aten::gcd")            OP_ROW("math.remainder", "aten::mathremainder")
    HELPER_ROW("math.log2", "log2")            HELPER_ROW("math.exp2", "exp2")
    HELPER_ROW("math.hypot", "hypot")          HELPER_ROW("math.trunc", "trunc")
    HELPER_ROW("math.isclose", "isclose")      HELPER_ROW("math.lcm", "lcm")
    HELPER_ROW("math.isqrt", "isqrt")          HELPER_ROW("math.comb", "comb")
    HELPER_ROW("math.perm", "perm")            HELPER_ROW("math.prod", "prod")
    /* cmath */
    OP_ROW("cmath.isnan", "aten::isnan")       OP_ROW("cmath.isfinite", "aten::isfinite")
    OP_ROW("cmath.isinf", "aten::isinf")       OP_ROW("cmath.phase", "aten::angle")
    OP_ROW("cmath.rect", "aten::polar")        OP_ROW("cmath.log", "aten::log")
    OP_ROW("cmath.log10", "aten::log10")       OP_ROW("cmath.sqrt", "aten::sqrt")
    OP_ROW("cmath.exp", "aten::exp")           OP_ROW("cmath.sin", "aten::sin")
    OP_ROW("cmath.tan", "aten::tan")           OP_ROW("cmath.cos", "aten::cos")
    OP_ROW("cmath.asin", "aten::asin")         OP_ROW("cmath.acos", "aten::acos")
    OP_ROW("cmath.atan", "aten::atan")         OP_ROW("cmath.sinh", "aten::sinh")
    OP_ROW("cmath.cosh", "aten::cosh")         OP_ROW("cmath.tanh", "aten::tanh")
    OP_ROW("cmath.asinh", "aten::asinh")       OP_ROW("cmath.acosh", "aten::acosh")
    OP_ROW("cmath.atanh", "aten::atanh")
    /* torch's functions that are no operator of the same name */
    OP_ROW("torch._assert", "aten::_assert")
    OP_ROW("torch.autograd.grad", "aten::grad")
    OP_ROW("torch.autograd.backward", "aten::backward")
    OP_ROW("torch.functional.stft", "aten::stft") OP_ROW("torch.functional.istft", "aten::istft")
    OP_ROW("torch.functional.cdist", "aten::cdist") OP_ROW("torch.functional.norm", "aten::norm")
    OP_ROW("torch.functional.unique_consecutive", "aten::unique_consecutive")
    OP_ROW("torch.nn.modules.utils._single", "aten::_single")
    OP_ROW("torch.nn.modules.utils._pair", "aten::_pair")
    OP_ROW("torch.nn.modules.utils._triple", "aten::_triple")
    OP_ROW("torch.nn.modules.utils._quadruple", "aten::_quadruple")
    OP_ROW("torch.nn.modules.utils._list_with_default", "aten::list_with_default")
    OP_ROW("torch.nn.functional._no_grad_embedding_renorm_", "aten::_no_grad_embedding_renorm_")
    OP_ROW("torch.nn.functional.assert_int_or_pair", "aten::_assert_int_or_pair")
    OP_ROW("torch.nn.init._no_grad_fill_", "aten::_no_grad_fill_")
    OP_ROW("torch.nn.init._no_grad_normal_", "aten::_no_grad_normal_")
    OP_ROW("torch.nn.init._no_grad_uniform_", "aten::_no_grad_uniform_")
    OP_ROW("torch.nn.init._no_grad_zero_", "aten::_no_grad_zero_")
    OP_ROW("torch.backends.cudnn.is_acceptable", "aten::cudnn_is_acceptable")
    OP_ROW("torch._C._infer_size", "aten::_infer_size")
    OP_ROW("torch._C._get_tracing_state", "aten::_get_tracing_state")
};
/* clang-format on */

/* ---- names ----------------------------------------------------------------------------------- */

static sugar *builtin_namespace(emitter *e, const char *name) {
    sugar *s = sugar_new(e, SUGAR_NAMESPACE);
    s->name = name;
    return s;
}

static sugar *builtin_operator(emitter *e, const char *op) {
    sugar *s = sugar_new(e, SUGAR_BUILTIN);
    s->name = op;
    return s;
}

static sugar *builtin_row_sugar(emitter *e, const builtin_row *row) {
    if (row->form == SPECIAL_NONE) return builtin_operator(e, row->op);
    sugar *s = sugar_new(e, SUGAR_SPECIAL);
    s->special = row->form;
    s->name = row->op;
    return s;
}

static bool builtin_known_operator(const char *op) {
    int n = 0;
    op_overloads(op, &n);
    return n > 0 || node_kind_named(op) != N_OP; /* prim kinds that have no schema */
}

/* torch.relu, torch.nn.functional.relu6, torch._C._nn.gelu, torch.linalg.det, torch.special.erf,
 * torch.fft.fft, ... */
static sugar *builtin_torch_function(emitter *e, const char *dotted) {
    static const struct { const char *prefix, *op; } spaces[] = {
        {"torch._C._nn.", "aten::"},
        {"torch._C._linalg.", "aten::"},
        {"torch._C._fft.", "aten::"},
        {"torch._C._special.", "aten::"},
        {"torch._C._sparse.", "aten::"},
        {"torch._C._nested.", "aten::"},
        {"torch._C._VariableFunctions.", "aten::"},
        {"torch._VF.", "aten::"},
        {"torch.linalg.", "aten::linalg_"},
        {"torch.fft.", "aten::fft_"},
        {"torch.special.", "aten::builtin_"},
        {"torch.nn.functional.", "aten::"},
        {"torch.functional.", "aten::"},
        {"torch.sparse.", "aten::_sparse_"},
        {"torch._C.", "aten::"},
        {"torch.", "aten::"},
    };
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        size_t n = strlen(spaces[i].prefix);
        if (strncmp(dotted, spaces[i].prefix, n) || strchr(dotted + n, '.')) continue;
        const char *op = arena_printf(e->scratch, "%s%s", spaces[i].op, dotted + n);
        if (builtin_known_operator(op)) return builtin_operator(e, op);
    }
    return NULL;
}

static sugar *builtin_float(emitter *e, double f) {
    return sugar_of_value(e, irgen_constant_take(e, value_float(f), NULL));
}

/* Names that only archives have. */
static sugar *builtin_archive_name(emitter *e, const char *name) {
    if (!strcmp(name, "torch") || !strcmp(name, "ops") || !strcmp(name, "math"))
        return builtin_namespace(e, intern(&e->unit->names, name));
    if (!strcmp(name, "__torch__")) {
        sugar *s = sugar_new(e, SUGAR_QUALIFIED);
        s->name = "__torch__";
        return s;
    }
    if (!strcmp(name, "CONSTANTS")) return sugar_new(e, SUGAR_CONSTANTS);
    if (!strcmp(name, "inf")) return builtin_float(e, __builtin_inf());
    if (!strcmp(name, "nan")) return builtin_float(e, __builtin_nan(""));
    if (!strcmp(name, "infj") || !strcmp(name, "nanj")) {
        complex_box *c = complex_new(0, *name == 'i' ? __builtin_inf() : __builtin_nan(""));
        if (!c) return diag_no_memory(e->diag), NULL;
        return sugar_of_value(
            e, irgen_constant_take(e, (value){.tag = V_COMPLEX, .u.complex = c}, NULL));
    }
    return NULL;
}

sugar *irgen_builtin_name(emitter *e, const char *name) {
    if (!strncmp(name, "builtins.", 9)) name += 9;
    for (size_t i = 0; i < sizeof builtin_table / sizeof *builtin_table; i++)
        if (!strcmp(builtin_table[i].name, name)) return builtin_row_sugar(e, &builtin_table[i]);
    if (!e->scope) {
        sugar *s = builtin_archive_name(e, name);
        if (s || irgen_failed(e)) return s;
    }
    return strncmp(name, "torch.", 6) ? NULL : builtin_torch_function(e, name);
}

/* A function of the layer library that compiled code calls as an operator:
 * torch.nn.modules.utils._pair. NULL: none. */
sugar *irgen_builtin_of_library(emitter *e, const char *name) {
    if (strncmp(name, "torch.nn.", 9)) return NULL;
    for (size_t i = 0; i < sizeof builtin_table / sizeof *builtin_table; i++)
        if (!strcmp(builtin_table[i].name, name)) return builtin_row_sugar(e, &builtin_table[i]);
    return NULL;
}

void irgen_note_library(emitter *e, const char *op) { op_note_library(e->diag, op); }

/* torch.add -> aten::add; ops.prim.dtype -> prim::dtype */
sugar *irgen_namespace_member(emitter *e, source_range r, const sugar *ns, const char *name) {
    const char *path = ns->name;
    if (!strcmp(path, "ops")) return builtin_namespace(e, arena_printf(e->scratch, "ops.%s", name));
    if (!strcmp(path, "math")) {
        const char *dotted = arena_printf(e->scratch, "math.%s", name);
        for (size_t i = 0; i < sizeof builtin_table / sizeof *builtin_table; i++)
            if (!strcmp(builtin_table[i].name, dotted))
                return builtin_row_sugar(e, &builtin_table[i]);
        static const struct { const char *name; double f; } constants[] = {
            {"pi", 3.14159265358979323846},
            {"e", 2.71828182845904523536},
            {"tau", 6.28318530717958647692},
        };
        for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
            if (!strcmp(constants[i].name, name)) return builtin_float(e, constants[i].f);
        if (!strcmp(name, "inf") || !strcmp(name, "nan")) return builtin_archive_name(e, name);
    }
    const char *prefix = !strncmp(path, "ops.", 4) ? path + 4 : "aten";
    const char *op = arena_printf(e->scratch, "%s::%s", prefix, name);
    if (builtin_known_operator(op)) return builtin_operator(e, op);
    static const char *const spaces[] = {"autograd", "jit", "ops", "special", "linalg", "fft"};
    for (size_t i = 0; !strcmp(path, "torch") && i < sizeof spaces / sizeof *spaces; i++)
        if (!strcmp(name, spaces[i]))
            return builtin_namespace(
                e, !strcmp(name, "ops") ? "ops" : arena_printf(e->scratch, "torch.%s", name));
    if (irgen_admits_unknown(e)) return builtin_operator(e, op);
    const char *close[1];
    if (op_similar(op, close, 1) == 1)
        irgen_fail(e, r, "Unknown builtin op: %s. Did you mean %s?", op, close[0]);
    else irgen_fail(e, r, "Unknown builtin op: %s", op);
    irgen_note_library(e, op);
    return NULL;
}
