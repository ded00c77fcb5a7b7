/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pipeline.c - the orders that pipeline.def's rows make: each stage, level and place.
 */
#include "support.h"

#include "base/text/strbuf.h"
#include "passes/passes.h"

#define FREEZE "freeze,peephole,fold-constants,lower-tuples,dce"
#define TIDY "[fold-constants,peephole,cse,licm,dce-writes]"
#define HEAD                                                                                       \
    "decompose-rest,lower-tuples,pool-constants," TIDY                                             \
    ",join-sums,fuse-loops,remove-mutation,unroll," TIDY ",batch-mm,fuse-attention,"
#define GROUPS "pool-constants,recompute,fuse-loops,fuse,"
#define LAST "dce,reorder,overlap"

static void order_is(const pass_ctx *cx, pipeline_stage stage, int level, const char *want) {
    strbuf got = STRBUF_INIT;
    pipeline_order(cx, stage, level, &got);
    assert_false(got.failed);
    assert_string_equal(sb_str(&got), want);
    sb_free(&got);
}

static void test_shown(void **state) {
    (void)state;
    order_is(&(pass_ctx){0}, PIPELINE_SIMPLIFY, 0,
             "normalize-ops,lower-tuples,fold-constants,dce,pool-constants,order-outputs");
    order_is(&(pass_ctx){0}, PIPELINE_FREEZE, 1,
             "inline,[" FREEZE "],pool-constants,order-outputs");
    order_is(&(pass_ctx){0}, PIPELINE_FREEZE, 2,
             "inline,[" FREEZE ",fuse-linear,fold-weights],pool-constants,order-outputs");
}

static void test_before_a_level(void **state) {
    (void)state;
    order_is(&(pass_ctx){0}, PIPELINE_PREPARE, 0, "autocast,scalar-constants,place");
    for (int level = 1; level <= 2; level++)
        order_is(&(pass_ctx){0}, PIPELINE_PREPARE, level,
                 "autocast,scalar-constants,decompose,place");
    order_is(&(pass_ctx){0}, PIPELINE_SPECIALISE, 1, "[" FREEZE "]");
    order_is(&(pass_ctx){0}, PIPELINE_SPECIALISE, 2,
             "[" FREEZE ",fuse-linear,fold-weights],quantise,pack-nbits,fold-tensors");
}

/* Level 1 is the same in all places. */
static void test_level_1(void **state) {
    (void)state;
    static const pass_ctx places[] = {
        {.device = DEVICE_HOST}, {.device = 1}, {.unpacked = true}, {.reduce.pass = "reduce-bf16"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        order_is(&places[i], PIPELINE_OPTIMISE, 1,
                 "decompose-rest,lower-tuples,pool-constants,remove-mutation,unroll," TIDY
                 ",pool-constants,overlap");
}

static void test_level_2(void **state) {
    (void)state;
    static const struct { pass_ctx cx; bool layout; const char *want; } places[] = {
        {{.device = DEVICE_HOST},
         true,
         HEAD "fuse-rotary,layout,make-weights,fuse-epilogues-host,cat-in-place," GROUPS
              "slice-images,prepack," LAST},
        {{.unpacked = true}, false, HEAD "fuse-rotary," GROUPS LAST},
        {{.reduce.pass = "reduce-bf16"},
         true,
         HEAD "fuse-rotary,layout,make-weights,fuse-epilogues-host," GROUPS
              "slice-images,prepack," LAST ",reduce-bf16"},
        {{.reduce.pass = "reduce-int8w", .unpacked = true},
         true,
         HEAD "fuse-rotary,layout,make-weights,fuse-epilogues-host," GROUPS
              "slice-images,prepack," LAST ",reduce-int8w"},
        {{.reduce.pass = "reduce-int4w"},
         true,
         HEAD "fuse-rotary,layout,make-weights,fuse-epilogues-host," GROUPS
              "slice-images,prepack," LAST ",reduce-int4w"},
        {{.reduce = {.pass = "reduce-auto", .error = 0.01}},
         true,
         HEAD
         "fuse-rotary,layout,make-weights,choose-precision,fuse-epilogues-host,cat-in-place," GROUPS
         "slice-images,prepack," LAST ",reduce-auto"},
        {{.device = 1, .reduce.pass = "reduce-bf16"}, false, HEAD "fuse-epilogues," GROUPS LAST},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        order_is(&places[i].cx, PIPELINE_OPTIMISE, 2, places[i].want);
        assert_int_equal(pipeline_has_layout(&places[i].cx), places[i].layout);
    }
}

/* A row that names no pass would fail only where its level and place are used. */
static void test_every_step_is_a_pass(void **state) {
    (void)state;
    static const struct { const char *name; } steps[] = {
#define CHOSEN "reduce-bf16"
#define STEP(stages, pass, level, where) {pass},
#include "passes/pipeline.def"
#undef STEP
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (strcmp(steps[i].name, "[") != 0 && strcmp(steps[i].name, "]") != 0)
            assert_non_null(pass_find(steps[i].name));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shown),
        cmocka_unit_test(test_before_a_level),
        cmocka_unit_test(test_level_1),
        cmocka_unit_test(test_level_2),
        cmocka_unit_test(test_every_step_is_a_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
