/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cuda_grad.c - gradients on a device (simulated): calls captured with their backward passes
 * give what the tape gives there and on the CPU, and their groups run as kernels.
 */
#include "cuda_support.h"

#include "runtime/exec/fused.h"

#include <math.h>

/* ---- programs -------------------------------------------------------------------------------- */

static const char nets[] =
    "import torch\n"
    "import torch.nn.functional as F\n"
    "from typing import Tuple\n"
    "class Main(torch.nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.a = torch.nn.Linear(8, 16)\n"
    "        self.b = torch.nn.Linear(16, 4)\n"
    "        self.conv = torch.nn.Conv2d(1, 4, 3, padding=1)\n"
    "        self.norm = torch.nn.BatchNorm2d(4)\n"
    "        self.flat = torch.nn.BatchNorm1d(3)\n"
    "        self.out = torch.nn.Linear(16, 4)\n"
    "        self.sigma = torch.nn.Parameter(torch.tensor([0.8, 1.1]))\n"
    "        self.register_buffer('seen', torch.zeros(4))\n"
    "    def forward(self, x):\n"
    "        h = self.b(torch.tanh(self.a(x)))\n"
    "        return (torch.log_softmax(h, 1) * torch.sigmoid(h)).pow(2).mean()\n"
    "    @torch.jit.export\n"
    "    def cnn(self, x):\n"
    "        h = F.max_pool2d(F.gelu(self.norm(self.conv(x.view(-1, 1, 4, 4)))), 2).flatten(1)\n"
    "        y = self.out(F.layer_norm(h, [16]))\n"
    "        return F.cross_entropy(y, torch.zeros(y.size(0), dtype=torch.long, device=y.device))\n"
    "    @torch.jit.export\n"
    "    def writes(self, x):\n"
    "        y = torch.exp(self.flat(x) * self.sigma[0]) * (1 + self.seen[:2].sum())\n"
    "        self.seen.add_(1)\n"
    "        return (y * torch.sin(x)).sum()\n"
    "    @torch.jit.export\n"
    "    def forces(self, x) -> Tuple[torch.Tensor, torch.Tensor]:\n"
    "        pos = x.detach().requires_grad_()\n"
    "        d = pos.unsqueeze(0) - pos.unsqueeze(1)\n"
    "        r2 = (d * d).sum(-1) + torch.eye(pos.size(0), device=pos.device)\n"
    "        s = self.sigma[0] / r2\n"
    "        e = (s.pow(3) - s + torch.exp(-r2 * self.sigma[1])).triu(1).sum()\n"
    "        g = torch.autograd.grad([e], [pos])[0]\n"
    "        assert g is not None\n"
    "        return e.detach(), -g\n";

typedef struct world {
    ctsc_module *m;
    ctsc_scope *s;
    ctsc_error *e;
    const char *device;
    fused_device_stats forward, backward; /* of the latest step */
} world;

static void must(const world *w, ctsc_status s) {
    if (s == CTSC_OK) return;
    fprintf(stderr, "%s\n", ctsc_error_message(w->e));
    _exit(1);
}

static world begin(const char *device, int opt) {
    world w = {.s = ctsc_scope_new(), .e = ctsc_error_new(), .device = device};
    ctsc_compile_options o = {.size = sizeof o, .seed = 3};
    must(&w, ctsc_module_compile_text("nets.py", nets, sizeof nets - 1, &o, &w.m, w.e));
    must(&w, ctsc_module_to(w.m, device, w.e));
    must(&w, ctsc_module_set_opt(w.m, opt, w.e));
    must(&w, ctsc_module_set_gradients(w.m, true, w.e));
    ctsc_module_train(w.m);
    ctsc_scope_set_gradients(w.s, true);
    return w;
}

static void end(world *w) {
    ctsc_scope_free(w->s);
    ctsc_module_free(w->m);
    ctsc_error_free(w->e);
}

/* rows x columns on the world's device, the scope's. */
static ctsc_value *matrix(world *w, int64_t rows, int64_t columns, int round) {
    const int64_t sizes[] = {rows, columns};
    ctsc_value *host, *there;
    must(w, ctsc_tensor_new(CTSC_FLOAT32, 2, sizes, &host, w->e));
    for (int64_t k = 0; k < rows * columns; k++)
        ((float *)ctsc_tensor_data(host))[k] = sinf((float)k * 1.7f + (float)round);
    must(w, ctsc_value_to(host, w->device, &there, w->e));
    ctsc_value_free(host);
    return ctsc_take(w->s, there);
}

static ctsc_value *call(world *w, const char *method, ctsc_value *x) {
    ctsc_value *y = ctsc_run(w->s, w->m, method, 1, &x);
    if (!y) {
        fprintf(stderr, "%s\n", ctsc_error_message(ctsc_scope_error(w->s)));
        _exit(1);
    }
    return y;
}

static fused_device_stats since(fused_device_stats then) {
    fused_device_stats now = fused_get_device_stats();
    return (fused_device_stats){now.native - then.native, now.interpreted - then.interpreted};
}

static void compare(const ctsc_value *got, const ctsc_value *want, const char *what, int round) {
    char *why = NULL;
    if (ctsc_value_close(got, want, 2e-4, 2e-5, &why)) return;
    fprintf(stderr, "%s, round %d: %s\n", what, round, why);
    _exit(1);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Parameters that have gradients go against them. */
static void descend(world *w) {
    ctsc_value *params = NULL;
    must(w, ctsc_module_parameters(w->m, &params, w->e));
    ctsc_scope_set_gradients(w->s, false);
    for (size_t i = 0; i < ctsc_value_len(params); i++) {
        ctsc_value *p = ctsc_value_item(params, i), *g = ctsc_value_grad(p);
        if (g) {
            ctsc_value *by = ctsc_mul(w->s, g, ctsc_float(w->s, 0.1));
            CHILD_CHECK(by && ctsc_op(w->s, "aten::sub_", 2, p, by) != NULL);
        }
        ctsc_value_free(g);
        ctsc_value_free(p);
    }
    ctsc_scope_set_gradients(w->s, true);
    ctsc_zero_grad(params);
    ctsc_value_free(params);
}

static ctsc_value *step(world *w, const char *method, int64_t rows, int64_t columns, int round) {
    fused_device_stats then = fused_get_device_stats();
    ctsc_value *loss = call(w, method, matrix(w, rows, columns, round));
    w->forward = since(then);
    then = fused_get_device_stats();
    must(w, ctsc_backward(loss, NULL, 0, NULL, w->e));
    w->backward = since(then);
    descend(w);
    return loss;
}

/* ---- training -------------------------------------------------------------------------------- */

static char logged[4096];

static void keep_log(void *ctx, ctsc_log_level level, const char *text) {
    (void)ctx;
    (void)level;
    size_t n = strlen(logged);
    if (n + strlen(text) + 2 < sizeof logged) strcat(strcat(logged, text), "\n");
}

/* Which round is the first that is captured code: at level 3 that which was captured. */
static int first_captured(int opt) { return opt == 3 ? 0 : 3; }

static void child_training(void) {
    static const struct {
        const char *method;
        int64_t rows, columns;
        int writes; /* what a call has written is not repeated: captured code begins later */
    } kinds[] = {{"forward", 6, 8, 0}, {"cnn", 5, 16, 1}, {"writes", 2, 3, 1}};
    sim_use();
    ctsc_set_log(CTSC_LOG_INFO, keep_log, NULL);
    for (int opt = 2; opt <= 3; opt++) {
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            world w[3] = {begin("cpu", 0), begin("cuda", 0), begin("cuda", opt)};
            for (int i = 0; i < 5; i++) {
                ctsc_value *loss[3], *state[3];
                for (int j = 0; j < 3; j++) {
                    loss[j] = step(&w[j], kinds[k].method, kinds[k].rows, kinds[k].columns, i);
                    must(&w[j], ctsc_module_state(w[j].m, &state[j], w[j].e));
                }
                for (int j = 1; j < 3; j++) {
                    compare(loss[j], loss[0], kinds[k].method, i);
                    compare(state[j], state[0], "state", i);
                }
                CHILD_CHECK(w[1].backward.native + w[1].forward.native == 0);
                bool captured = i >= first_captured(opt) + (opt == 3 && kinds[k].writes);
                CHILD_CHECK(!captured || (w[2].forward.native && w[2].backward.native));
                for (int j = 0; j < 3; j++) {
                    ctsc_value_free(state[j]);
                    ctsc_scope_clear(w[j].s);
                }
            }
            for (int j = 0; j < 3; j++) end(&w[j]);
        }
    }
    CHILD_CHECK(!strstr(logged, "run as taped code"));
}

static void training(void **state) {
    (void)state;
    in_child(child_training);
}

/* ---- gradients within a call ----------------------------------------------------------------- */

static void child_forces(void) {
    sim_use();
    ctsc_set_log(CTSC_LOG_INFO, keep_log, NULL);
    for (int opt = 2; opt <= 3; opt++) {
        world w[3] = {begin("cpu", 0), begin("cuda", 0), begin("cuda", opt)};
        for (int j = 0; j < 3; j++) {
            must(&w[j], ctsc_module_set_gradients(w[j].m, false, w[j].e));
            ctsc_scope_set_gradients(w[j].s, false);
        }
        for (int i = 0; i < 5; i++) {
            ctsc_value *y[3];
            cuda *c = NULL;
            CHILD_CHECK(cuda_open(NULL, 0, &c) == CTSC_OK);
            uint64_t launches[3];
            for (int j = 0; j < 3; j++) {
                fused_device_stats then = fused_get_device_stats();
                ctsc_value *x = matrix(&w[j], 5, 3, i);
                launches[j] = cuda_get_program_stats(c).launches;
                y[j] = call(&w[j], "forces", x);
                launches[j] = cuda_get_program_stats(c).launches - launches[j];
                w[j].forward = since(then);
                if (j) compare(y[j], y[0], "forces", i);
            }
            CHILD_CHECK(!w[1].forward.native && !w[2].forward.interpreted);
            if (i < first_captured(opt)) continue;
            CHILD_CHECK(w[2].forward.native);
            if (i > 3) CHILD_CHECK(launches[2] > 0 && launches[2] < launches[1] / 2);
        }
        for (int j = 0; j < 3; j++) end(&w[j]);
    }
    CHILD_CHECK(!strstr(logged, "run as taped code"));
}

static void forces(void **state) {
    (void)state;
    in_child(child_forces);
}

/* ---- gradients of gradients ------------------------------------------------------------------ */

/* A captured call is repeated on the tape, and what it writes on the device is put back. */
static void child_second_order(void) {
    sim_use();
    world w[3] = {begin("cpu", 0), begin("cpu", 2), begin("cuda", 2)};
    for (int i = 0; i < 5; i++) {
        ctsc_value *second[3], *state[3];
        for (int j = 0; j < 3; j++) {
            ctsc_value *x = matrix(&w[j], 2, 3, i), *first = NULL;
            must(&w[j], ctsc_value_set_requires_grad(x, true, w[j].e));
            ctsc_value *loss = call(&w[j], "writes", x);
            must(&w[j], ctsc_grad(1, &loss, NULL, 1, &x, CTSC_CREATE_GRAPH, NULL, &first, w[j].e));
            ctsc_value *sum = ctsc_sum(w[j].s, ctsc_mul(w[j].s, first, first));
            must(&w[j], ctsc_grad(1, &sum, NULL, 1, &x, 0, NULL, &second[j], w[j].e));
            must(&w[j], ctsc_module_state(w[j].m, &state[j], w[j].e));
            ctsc_value_free(first);
        }
        for (int j = 1; j < 3; j++) {
            compare(second[j], second[0], "second order", i);
            compare(state[j], state[0], "state", i);
        }
        for (int j = 0; j < 3; j++) {
            ctsc_value_free(second[j]);
            ctsc_value_free(state[j]);
            ctsc_scope_clear(w[j].s);
        }
    }
    for (int j = 0; j < 3; j++) end(&w[j]);
}

static void second_order(void **state) {
    (void)state;
    in_child(child_second_order);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training),
        cmocka_unit_test(forces),
        cmocka_unit_test(second_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
