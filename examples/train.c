/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train.c - trains a small network on handwritten digits, in C, and saves it as an archive
 * that PyTorch loads.
 *
 *     train MODELS_DIR OUT.pt        train models /tmp/trained.pt
 *
 * The data are the 360 scans of models/digits_test.pt, in an order without pattern: 280 to learn
 * from, turned, moved and scaled a little each time that they are seen, and 80 to test with.
 * Weights begin as PyTorch's layers initialise them. The program fails if less than 95 % of the
 * test digits are read right; it comes to 98.
 */
#include <ctsc.h>

#include <stdio.h>
#include <string.h>

/* an epoch sees each image several times */
enum { LEARN = 280, TEST = 80, TIMES = 4, EPOCHS = 40 };

static const char source[] = "import torch\n"
                             "import torch.nn as nn\n"
                             "import torch.nn.functional as F\n"
                             "class Main(nn.Module):\n"
                             "    def __init__(self):\n"
                             "        super().__init__()\n"
                             "        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)\n"
                             "        self.bn1 = nn.BatchNorm2d(16)\n"
                             "        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)\n"
                             "        self.bn2 = nn.BatchNorm2d(32)\n"
                             "        self.drop = nn.Dropout(0.25)\n"
                             "        self.fc1 = nn.Linear(128, 64)\n"
                             "        self.fc2 = nn.Linear(64, 10)\n"
                             "    def forward(self, x):\n"
                             "        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)\n"
                             "        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)\n"
                             "        x = self.drop(x.flatten(1))\n"
                             "        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), 1)\n";

/* x, images, each turned, scaled, sheared and moved by random numbers. */
static ctsc_value *distorted(ctsc_scope *s, ctsc_value *x) {
    int64_t n = ctsc_tensor_sizes(x)[0];
    ctsc_value *little = ctsc_float(s, 0.1),
               *same = ctsc_narrow(s, ctsc_op(s, "aten::eye", 1, ctsc_int(s, 3)), 0, 0, 2);
    ctsc_value *random = ctsc_op(s, "aten::randn", 1, ctsc_ints(s, 3, (int64_t[]){n, 2, 3}));
    ctsc_value *map = ctsc_add(s, ctsc_mul(s, random, little), same), *no = ctsc_bool(s, false),
               *zero = ctsc_int(s, 0);
    ctsc_value *grid = ctsc_op(s, "aten::affine_grid_generator", 3, map,
                               ctsc_ints(s, 4, ctsc_tensor_sizes(x)), no);
    return ctsc_op(s, "aten::grid_sampler", 5, x, grid, zero, zero, no);
}

/* (images, digits) to learn from. */
static ctsc_value *examples(ctsc_scope *s, ctsc_value *images, ctsc_value *digits) {
    ctsc_value *xs[TIMES], *ys[TIMES];
    for (int i = 0; i < TIMES; i++)
        xs[i] = ctsc_narrow(s, images, 0, 0, LEARN), ys[i] = ctsc_narrow(s, digits, 0, 0, LEARN);
    return ctsc_tuple(s, 2, (ctsc_value *[]){ctsc_cat(s, TIMES, xs, 0), ctsc_cat(s, TIMES, ys, 0)});
}

/* One pass over the data; *loss: the mean. */
static ctsc_status epoch(ctsc_scope *s, ctsc_module *m, ctsc_optimizer *opt, ctsc_loader *data,
                         int number, double *loss, ctsc_error *e) {
    ctsc_value *batch = NULL;
    double sum = 0;
    ctsc_status st = ctsc_loader_begin(data, number, 0, e);
    while (st == CTSC_OK && (st = ctsc_loader_next(data, &batch, e)) == CTSC_OK && batch) {
        ctsc_take(s, batch);
        ctsc_value *x = distorted(s, ctsc_item(s, batch, 0)),
                   *answers = ctsc_run(s, m, "forward", 1, &x);
        ctsc_value *l = ctsc_op(s, "aten::nll_loss", 2, answers, ctsc_item(s, batch, 1));
        if (!l)
            return ctsc_error_set(e, ctsc_scope_status(s), "%s",
                                  ctsc_error_message(ctsc_scope_error(s)));
        sum += *(float *)ctsc_tensor_data(l);
        ctsc_optimizer_zero_grad(opt);
        st = ctsc_backward(l, NULL, 0, NULL, e);
        if (st == CTSC_OK) st = ctsc_optimizer_step(opt, e);
        ctsc_scope_clear(s); /* with it what was recorded of the step */
    }
    *loss = sum / (double)ctsc_loader_batches(data);
    return st;
}

/* How many of the last TEST images are read right. */
static int test(ctsc_scope *s, ctsc_module *m, ctsc_value *images, const int64_t *digits) {
    int right = 0;
    ctsc_module_eval(m);
    ctsc_scope_set_gradients(s, false);
    ctsc_value *x = ctsc_narrow(s, images, 0, LEARN, TEST),
               *found = ctsc_argmax_dim(s, ctsc_run(s, m, "forward", 1, &x), 1, false);
    for (int i = 0; found && i < TEST; i++)
        right += ((int64_t *)ctsc_tensor_data(found))[i] == digits[LEARN + i];
    ctsc_scope_clear(s);
    ctsc_scope_set_gradients(s, true);
    ctsc_module_train(m);
    return right;
}

static ctsc_status train(ctsc_module *m, ctsc_value *images, ctsc_value *digits, const char *out,
                         ctsc_error *e) {
    ctsc_scope *s = ctsc_scope_new();
    ctsc_value *data = examples(s, images, digits), *params = NULL;
    ctsc_optimizer *opt = NULL;
    ctsc_scheduler *schedule = NULL;
    ctsc_loader *loader = NULL;
    int right = 0;
    ctsc_scope_seed(s, 1);
    ctsc_scope_set_gradients(s, true);
    ctsc_status st = ctsc_module_set_gradients(m, true, e);
    if (st == CTSC_OK) st = ctsc_module_parameters(m, &params, e);
    if (st == CTSC_OK)
        st = ctsc_optimizer_new("adamw", params, 1, &(ctsc_setting){"lr", 4e-3}, &opt, e);
    if (st == CTSC_OK)
        st = ctsc_scheduler_new("cosine", opt, 1, &(ctsc_setting){"t_max", EPOCHS}, NULL, NULL,
                                &schedule, e);
    if (st == CTSC_OK)
        st = ctsc_loader_new(data,
                             &(ctsc_loader_options){
                                 .size = sizeof(ctsc_loader_options), .batch = 64, .shuffle = true},
                             &loader, e);
    for (int i = 0; st == CTSC_OK && i < EPOCHS; i++) {
        double loss = 0;
        st = epoch(s, m, opt, loader, i, &loss, e);
        if (st == CTSC_OK) st = ctsc_scheduler_step(schedule, 0, e);
        right = st == CTSC_OK ? test(s, m, images, ctsc_tensor_data(digits)) : 0;
        if (st == CTSC_OK && i % 8 == 7)
            printf("epoch %2d: loss %.4f, %d of %d right\n", i + 1, loss, right, TEST);
    }
    if (st == CTSC_OK && 100 * right < 95 * TEST)
        st = ctsc_error_set(e, CTSC_FAILED, "only %d of %d digits are read right", right, TEST);
    ctsc_module_eval(m);
    if (st == CTSC_OK) st = ctsc_module_save(m, out, e);
    ctsc_loader_free(loader);
    ctsc_scheduler_free(schedule);
    ctsc_optimizer_free(opt);
    ctsc_value_free(params);
    ctsc_scope_free(s);
    return st;
}

int main(int argc, char **argv) {
    char path[4096];
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    ctsc_value *file = NULL, *images = NULL, *digits = NULL;
    if (argc != 3) return fputs("usage: train MODELS_DIR OUT.pt\n", stderr), CTSC_USAGE;
    snprintf(path, sizeof path, "%s/digits_test.pt", argv[1]);
    ctsc_status st = ctsc_value_load(path, &file, e);
    snprintf(path, sizeof path, "%s/digits_labels.pt", argv[1]);
    if (st == CTSC_OK) st = ctsc_value_load(path, &digits, e);
    if (st == CTSC_OK && !(images = ctsc_value_item(file, 0)))
        st = ctsc_error_set(e, CTSC_BAD_FILE, "no images");
    ctsc_compile_options o = {.size = sizeof o, .seed = 1, .training = true};
    if (st == CTSC_OK)
        st = ctsc_module_compile_text("digits.py", source, strlen(source), &o, &m, e);
    if (st == CTSC_OK) st = train(m, images, digits, argv[2], e);
    if (st != CTSC_OK) fprintf(stderr, "%s\n", ctsc_error_message(e));
    ctsc_module_free(m);
    ctsc_value_free(images);
    ctsc_value_free(digits);
    ctsc_value_free(file);
    ctsc_error_free(e);
    return st;
}
