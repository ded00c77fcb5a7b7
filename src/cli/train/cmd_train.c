/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_train.c - ctsc train: the options. Tests: tests/cli/train.test */
#include "cli/train/cli_train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_DATA = 256,
    OPT_VALID,
    OPT_LOSS,
    OPT_OPTIMIZER,
    OPT_LR,
    OPT_WEIGHT_DECAY,
    OPT_SET,
    OPT_SCHEDULE,
    OPT_BATCH,
    OPT_EPOCHS,
    OPT_RESUME,
    OPT_CHECKPOINT,
    OPT_EVERY,
    OPT_CLIP,
    OPT_PATIENCE,
    OPT_LOG,
    OPT_EVENTS,
    OPT_DROP,
    OPT_ORDER,
    OPT_THREADS,
    OPT_PRECISION,
    OPT_FLUSH,
    OPT_TARGET,
    OPT_FEATURES,
    OPT_DTYPE,
    OPT_SPLIT,
    OPT_AUGMENT,
    OPT_WEIGHTS,
    OPT_FREEZE,
    OPT_PRETRAINED,
    OPT_LABELS,
    OPT_DISTRIBUTED,
    OPT_LAYERS,
    OPT_BYTES
};

static const struct argp_option train_argp_options[] = {
    {"data", OPT_DATA, "FILE", 0,
     "training data with a row per example: tensors (.npz, .npy, .safetensors, HDF5, of "
     "torch.save), "
     "a table (.csv, .tsv, Parquet), or a folder of images with a subfolder for each class "
     "(DIR:resize=64:crop=56); may be repeated",
     0},
    {"valid", OPT_VALID, "FILE", 0, "the same to measure with after each epoch; may be repeated",
     0},
    {"split", OPT_SPLIT, "X", 0, "keep this share of the rows for validation, chosen at random", 0},
    {"target", OPT_TARGET, "NAME,...", 0,
     "tensor or columns to learn: by default what is called y, target or label, else the last", 0},
    {"features", OPT_FEATURES, "NAME,...", 0,
     "tensors or columns to learn from, in this order (all but the target)", 0},
    {"dtype", OPT_DTYPE, "NAME", 0, "of the inputs (as in the file; float32 of tables)", 0},
    {"augment", OPT_AUGMENT, "NAME,...", 0,
     "flip, vflip, crop=PIXELS (added on each side, then cut out at random); normalise, or "
     "normalise=MEAN,DEVIATION (or as many of each as there are channels)",
     0},
    {"class-weights", OPT_WEIGHTS, "X,...", 0, "of the loss; balanced: rarer classes count more",
     0},
    {"pretrained", OPT_PRETRAINED, "FILE", 0,
     "begin with the tensors of this model or state_dict whose names and sizes fit", 0},
    {"freeze", OPT_FREEZE, "PATTERN", 0,
     "do not train the parameters, or those of modules, of such names ('layer*'); may be repeated",
     0},
    {"loss", OPT_LOSS, "NAME", 0,
     "cross_entropy (the default), nll, mse, l1, smooth_l1, huber, bce, bce_with_logits, or a "
     "method of MODEL that takes a batch and gives the loss",
     0},
    {"optimizer", OPT_OPTIMIZER, "NAME", 0,
     "adamw (the default), sgd, adam, adagrad, rmsprop, adadelta, adamax, nadam, radam, asgd, "
     "rprop, lbfgs",
     0},
    {"lr", OPT_LR, "X", 0, "learning rate (the optimiser's default)", 0},
    {"weight-decay", OPT_WEIGHT_DECAY, "X", 0, "weight decay (the optimiser's default)", 0},
    {"set", OPT_SET, "NAME=X,...", 0,
     "other hyperparameters: momentum=0.9,nesterov=1, beta2=0.95, amsgrad=1", 0},
    {"schedule", OPT_SCHEDULE, "NAME:A=X,...", 0,
     "learning rates: step:step_size=3,gamma=0.1, multistep:milestone=3,milestone=5, "
     "exponential:gamma=0.9, linear, cosine, "
     "onecycle (by batches), plateau",
     0},
    {"batch", OPT_BATCH, "N", 0, "rows of a batch (64)", 0},
    {"epochs", OPT_EPOCHS, "N", 0, "passes over the data (5)", 0},
    {"clip-norm", OPT_CLIP, "X", 0, "scale gradients so that their norm is at most X", 0},
    {"early-stop", OPT_PATIENCE, "N", 0,
     "end after N epochs without a better validation loss; OUT.pt is the best one", 0},
    {"patience", 0, "N", OPTION_ALIAS, 0, 0},
    {"output", 'o', "OUT.pt", 0, "write the trained model", 0},
    {"labels", OPT_LABELS, "FILE", 0,
     "write the names of the classes, if the data have some (OUT.labels.json)", 0},
    {"checkpoint", OPT_CHECKPOINT, "FILE", 0,
     "keep all of the state there, to go on from (--resume)", 0},
    {"checkpoint-every", OPT_EVERY, "N", 0, "... after each N batches, not epochs", 0},
    {"resume", OPT_RESUME, "FILE", 0, "go on from a checkpoint, as if nothing had happened", 0},
    {"log", OPT_LOG, "FILE", 0, "append a line of JSON per epoch, and per 50 batches", 0},
    {"tensorboard", OPT_EVENTS, "DIR", 0, "the same as a file for TensorBoard", 0},
    {"drop-last", OPT_DROP, 0, 0, "leave out an epoch's last batch if it is smaller", 0},
    {"in-order", OPT_ORDER, 0, 0, "do not shuffle", 0},
    {"precision", OPT_PRECISION, "NAME", 0,
     "float32 (the default), or bf16: the model runs within autocast; parameters, gradients and "
     "the "
     "optimiser's state stay float32",
     0},
    {"checkpoint-layers", OPT_LAYERS, "K", 0,
     "keep less for the gradients: what the model computes is divided into K segments, between "
     "layers, and computed again but for what crosses; auto: as few as --max-bytes needs",
     0},
    {"max-bytes", OPT_BYTES, "N", 0,
     "what the activations and gradients of a step may take (--checkpoint-layers auto)", 0},
    {"distributed", OPT_DISTRIBUTED, 0, 0,
     "share the rows of each batch among the processes of ctsc launch, mpirun or srun", 0},
    {"threads", OPT_THREADS, "N", 0,
     "threads to use (0, the default: all cores); results do not depend on it", 0},
    {"flush-denormals", OPT_FLUSH, 0, 0, CLI_FLUSH_TEXT, 0},
    {0},
};

bool train_has_setting(const train_settings *s, const char *name) {
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->list[i].name, name)) return true;
    return false;
}

void train_add_setting(train_settings *s, const char *name, double value) {
    if (s->n < TRAIN_MAX_SETTINGS) s->list[s->n++] = (ctsc_setting){name, value};
}

bool train_parse_settings(train_settings *s, const char *text) {
    size_t used = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->list[i].name >= s->text && s->list[i].name < s->text + sizeof s->text)
            used = (size_t)(s->list[i].name - s->text) + strlen(s->list[i].name) + 1;
    while (*text) {
        const char *is = strchr(text, '=');
        size_t len = is ? (size_t)(is - text) : 0;
        char *end;
        if (!len || used + len + 1 > sizeof s->text || s->n == TRAIN_MAX_SETTINGS) return false;
        double v = cli_double(is + 1, &end);
        if (end == is + 1 || (*end && *end != ',') || v != v) return false;
        char *name = memcpy(s->text + used, text, len);
        name[len] = '\0';
        used += len + 1;
        s->list[s->n++] = (ctsc_setting){name, v};
        text = *end ? end + 1 : end;
    }
    return true;
}

static void train_put_file(struct argp_state *state, const char *option, const char **files,
                           size_t *n, const char *file) {
    if (*n == TRAIN_MAX_FILES)
        argp_error(state, "--%s: more than %d files are given", option, TRAIN_MAX_FILES);
    files[(*n)++] = file;
}

static double train_number(struct argp_state *state, const char *option, const char *arg,
                           double least, bool whole) {
    double x = cli_number(state, option, arg);
    if (x < least || x > 1e15 || (whole && x != floor(x)))
        argp_error(state, "--%s: '%s' is not %s from %g on", option, arg,
                   whole ? "a whole number" : "a number", least);
    return x;
}

static void train_parse_schedule(struct argp_state *state, train_options *o, char *arg) {
    char *colon = strchr(arg, ':');
    o->schedule = arg;
    if (colon) *colon = '\0';
    if (colon && !train_parse_settings(&o->schedule_set, colon + 1))
        argp_error(state, "--schedule: NAME:SETTING=NUMBER,... is expected");
}

static error_t train_parse(int key, char *arg, struct argp_state *state) {
    train_options *o = state->input;
    switch (key) {
    case OPT_DATA: train_put_file(state, "data", o->data, &o->ndata, arg); break;
    case OPT_VALID: train_put_file(state, "valid", o->valid, &o->nvalid, arg); break;
    case OPT_LOSS: o->loss = arg; break;
    case OPT_OPTIMIZER: o->optimizer = arg; break;
    case OPT_LR: train_add_setting(&o->set, "lr", cli_number(state, "lr", arg)); break;
    case OPT_WEIGHT_DECAY:
        train_add_setting(&o->set, "weight_decay", cli_number(state, "weight-decay", arg));
        break;
    case OPT_SET:
        if (!train_parse_settings(&o->set, arg))
            argp_error(state, "--set: NAME=NUMBER,... is expected");
        break;
    case OPT_SCHEDULE: train_parse_schedule(state, o, arg); break;
    case OPT_BATCH: o->batch = (int64_t)train_number(state, "batch", arg, 1, true); break;
    case OPT_EPOCHS: o->epochs = (int64_t)train_number(state, "epochs", arg, 1, true); break;
    case OPT_CLIP: o->clip_norm = train_number(state, "clip-norm", arg, 1e-30, false); break;
    case OPT_PATIENCE:
        o->patience = (int64_t)train_number(state, "early-stop", arg, 0, true);
        break;
    case OPT_CHECKPOINT: o->checkpoint = arg; break;
    case OPT_EVERY:
        o->checkpoint_every = (int64_t)train_number(state, "checkpoint-every", arg, 1, true);
        break;
    case OPT_RESUME: o->resume = arg; break;
    case OPT_TARGET: o->target = arg; break;
    case OPT_FEATURES: o->features = arg; break;
    case OPT_DTYPE:
        o->dtype = ctsc_dtype_find(arg);
        if (!o->dtype || o->dtype->use != CTSC_DTYPE_COMPUTED)
            argp_error(state, "--dtype: '%s' is not a dtype of tensors", arg);
        break;
    case OPT_SPLIT:
        o->split = cli_number(state, "split", arg);
        if (!(o->split > 0 && o->split < 1)) argp_error(state, "--split: between 0 and 1");
        break;
    case OPT_AUGMENT:
        if (!augment_parse(&o->augment, arg))
            argp_error(state, "--augment: flip, vflip, crop=PIXELS, normalise or "
                              "normalise=MEAN,DEVIATION is expected");
        break;
    case OPT_WEIGHTS: o->class_weights = arg; break;
    case OPT_PRETRAINED: o->pretrained = arg; break;
    case OPT_FREEZE:
        if (o->nfreeze == TRAIN_MAX_PATTERNS)
            argp_error(state, "--freeze: more than %d patterns are given", TRAIN_MAX_PATTERNS);
        o->freeze[o->nfreeze++] = arg;
        break;
    case OPT_LABELS: o->labels = arg; break;
    case OPT_LAYERS:
        o->checkpointed = true;
        o->segments = strcmp(arg, "auto")
                          ? (int64_t)train_number(state, "checkpoint-layers", arg, 1, true)
                          : 0;
        break;
    case OPT_BYTES: o->max_bytes = (uint64_t)train_number(state, "max-bytes", arg, 1, true); break;
    case OPT_DISTRIBUTED: o->distributed = true; break;
    case OPT_LOG: o->log = arg; break;
    case OPT_EVENTS: o->events = arg; break;
    case OPT_DROP: o->drop_last = true; break;
    case OPT_ORDER: o->in_order = true; break;
    case OPT_PRECISION:
        o->bf16 = !strcmp(arg, "bf16");
        if (!o->bf16 && strcmp(arg, "float32"))
            argp_error(state, "--precision: float32 or bf16 is expected");
        break;
    case OPT_FLUSH: cli_flush_denormals(state); break;
    case OPT_THREADS:
        o->threads = cli_whole_number(state, "threads", arg, 0, CLI_MAX_THREADS);
        break;
    case 'o': o->output = arg; break;
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->model; break;
    case ARGP_KEY_END:
        if (!o->ndata) argp_error(state, "--data is needed");
        if (!o->output && !o->checkpoint)
            argp_error(state, "-o OUT.pt (or --checkpoint) is needed");
        if (o->split > 0 && o->nvalid) argp_error(state, "--valid and --split exclude each other");
        if (o->distributed && o->class_weights)
            argp_error(state, "--distributed and --class-weights exclude each other");
        if ((o->checkpointed && !o->segments) != (o->max_bytes != 0))
            argp_error(state, "--checkpoint-layers auto and --max-bytes need each other");
        if (o->patience >= 0 && !o->nvalid && !(o->split > 0))
            argp_error(state, "--early-stop needs --valid or --split");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp_child train_children[] = CLI_MODEL_CHILD;
const struct argp cmd_train_argp = {
    train_argp_options,
    train_parse,
    "MODEL",
    "Trains a model: an archive, or Python source, whose weights are then initialised with "
    "--seed.\v"
    "The method forward is called with all tensors of a batch but the last, which is the target. "
    "A line is printed per epoch: loss, accuracy of classifiers, time. The same options and seed "
    "give "
    "the same weights, whatever the number of threads.",
    train_children,
    NULL,
    NULL};

int cmd_train(int argc, char **argv) {
    train_options o = {
        .loss = "cross_entropy", .optimizer = "adamw", .batch = 64, .epochs = 5, .patience = -1};
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    if (!e) return cli_complain(CTSC_LIMIT, "out of memory");
    cli_parse_args(&cmd_train_argp, argc, argv, &o);
    cli_hear_alerts();
    o.model.compile.training = cli_is_source(o.model.path);
    ctsc_set_threads(o.threads);
    int code = cli_check_output(o.output, CLI_ARCHIVE);
    if (!code) code = cli_check_output(o.checkpoint, CLI_SAVED);
    if (!code) code = cli_check_output(o.labels, CLI_TEXT);
    if (!code) code = cli_load(&o.model, &m, e);
    if (!code) code = train_run(&o, m, e);
    ctsc_module_free(m);
    ctsc_error_free(e);
    return code;
}
