/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steady.c - the same small call N times, for counting the instructions of one: what a call costs
 * beside its arithmetic, and whether it has come to cost more.
 *
 *     steady chain|group|linear OPT N
 *
 * chain: eleven operators on five elements; group: four that one kernel does; linear: a layer of
 * 5 x 8. The difference between two numbers of calls is that of as many steady ones (once kernels
 * are in the cache):
 *
 *     for n in 1000 3000; do valgrind --tool=callgrind build/bench/steady chain 0 $n; done
 */
#include <ctsc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODULE "import torch\nclass Main(torch.nn.Module):\n"

static const struct { const char *name, *text; } programs[] = {
    {"chain", MODULE "    def forward(self, x):\n"
                     "        a = x + x\n"
                     "        b = a * x\n"
                     "        c = torch.relu(b) - x\n"
                     "        d = torch.sigmoid(c)\n"
                     "        e = d * a + c\n"
                     "        f = torch.exp(-e)\n"
                     "        return f.unsqueeze(0).sum(1)\n"},
    {"group", MODULE "    def forward(self, x):\n"
                     "        return torch.relu(x * x + x) * torch.sigmoid(x)\n"},
    {"linear", MODULE "    def __init__(self):\n"
                      "        super().__init__()\n"
                      "        self.l = torch.nn.Linear(5, 8)\n"
                      "    def forward(self, x):\n"
                      "        return self.l(x)\n"},
};

static int steady_fail(const ctsc_error *e) {
    fprintf(stderr, "steady: %s\n", ctsc_error_message(e));
    return 1;
}

int main(int argc, char **argv) {
    const char *text = NULL;
    const int64_t sizes[] = {5};
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    ctsc_value *x, *y;
    for (size_t i = 0; argc == 4 && i < sizeof programs / sizeof *programs; i++)
        if (!strcmp(argv[1], programs[i].name)) text = programs[i].text;
    if (!text) {
        fprintf(stderr, "usage: steady chain|group|linear OPT N\n");
        return 2;
    }
    ctsc_set_compiling(CTSC_COMPILE_IN_CALLS);
    if (ctsc_module_compile_text("steady.py", text, strlen(text), NULL, &m, e) != CTSC_OK ||
        ctsc_module_set_opt(m, atoi(argv[2]), e) != CTSC_OK ||
        ctsc_tensor_new(CTSC_FLOAT32, 1, sizes, &x, e) != CTSC_OK)
        return steady_fail(e);
    for (int k = 0; k < 5; k++) ((float *)ctsc_tensor_data(x))[k] = (float)k * 0.3f - 1;
    for (int i = atoi(argv[3]); i > 0; i--) {
        if (ctsc_module_run(m, "forward", 1, &x, NULL, &y, e) != CTSC_OK) return steady_fail(e);
        ctsc_value_free(y);
    }
    ctsc_value_free(x);
    ctsc_module_free(m);
    ctsc_error_free(e);
    return 0;
}
