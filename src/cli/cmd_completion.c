/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_completion.c - ctsc completion: what bash, zsh and fish have to know, from the commands' own
 * tables of options.
 *
 * Method. The table of commands (cli.h) and the argp structures, children included, are walked once
 * per shell; nothing about a command is said here. An argument is a file if its name says so (FILE,
 * DIR, MODEL, SRC.py), a word of a list if it has a '|' (bash|zsh|fish) or the option is in
 * completion_values, a name that the scripts ask ctsc for (completion_names), else anything.
 * Tests: tests/cli/completion.test
 */
#include "cli/cli.h"
#include "ctsc_compiler.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct completion_command {
    const char *name, *text;
    const struct argp *argp;
} completion_commands[] = {
#define COMMAND_ROW(name, usage, text) {#name, text, &cmd_##name##_argp},
    COMMANDS(COMMAND_ROW)
#undef COMMAND_ROW
};

enum { COMPLETION_COMMANDS = sizeof completion_commands / sizeof *completion_commands };

/* What argp itself adds to every command. */
static const struct argp_option completion_common[] = {
    {"help", '?', 0, 0, "give this help list", 0},
    {"usage", -3, 0, 0, "give a short usage message", 0},
    {0},
};

/* Before a command. */
static const struct argp_option completion_options[] = {
#define OPTION_ROW(name, arg, text) {name, -1, arg, 0, text, 0},
    MAIN_OPTIONS(OPTION_ROW)
#undef OPTION_ROW
    {0}};
enum { COMPLETION_OPTIONS = sizeof completion_options / sizeof *completion_options - 1 };

typedef void (*completion_visit)(const struct argp_option *o, void *ctx);

static void completion_walk_options(const struct argp_option *o, completion_visit visit,
                                    void *ctx) {
    for (; o && (o->name || o->key || o->doc); o++)
        if (o->name && !(o->flags & (OPTION_HIDDEN | OPTION_DOC))) visit(o, ctx);
}

static void completion_walk(const struct argp *a, completion_visit visit, void *ctx) {
    completion_walk_options(a->options, visit, ctx);
    for (const struct argp_child *c = a->children; c && c->argp; c++)
        completion_walk(c->argp, visit, ctx);
}

static void completion_walk_all(const struct argp *a, completion_visit visit, void *ctx) {
    completion_walk(a, visit, ctx);
    completion_walk_options(completion_common, visit, ctx);
}

/* The name of a positional argument: the command's own, or a child's. NULL: none. */
static const char *completion_positional(const struct argp *a) {
    if (a->args_doc) return a->args_doc;
    for (const struct argp_child *c = a->children; c && c->argp; c++)
        if (completion_positional(c->argp)) return completion_positional(c->argp);
    return NULL;
}

static bool completion_is_file(const char *arg) {
    return arg && (strstr(arg, "FILE") || strstr(arg, "DIR") || strstr(arg, "MODEL") ||
                   strstr(arg, "SRC"));
}

static bool completion_is_words(const char *arg) { return arg && strchr(arg, '|'); }

/* What options take whose argument has a name: of all commands that have them. "@KIND": a name of
 * completion_names. */
static const struct completion_values {
    const char *option, *values;
} completion_values[] = {
    {"optimizer", "adamw|sgd|adam|adagrad|rmsprop|adadelta|adamax|nadam|radam|asgd|rprop|lbfgs"},
    {"loss", "cross_entropy|nll|mse|l1|smooth_l1|huber|bce|bce_with_logits"},
    {"schedule", "step:|multistep:|exponential:|linear|cosine|onecycle|plateau"},
    {"precision", "float32|bf16|int8w|int4w|auto|autocast|autocast:float16"},
    {"augment", "flip|vflip|crop=|normalise"},
    {"class-weights", "balanced"},
    {"device", "cpu|cuda"},
    {"isolate", "process|none"},
    {"opt", "0|1|2|3"},
    {"cpu", "host|sse2|avx2|avx512|neon|dotprod|i8mm|sve"},
    {"quantized-engine", "x86|fbgemm|qnnpack"},
    {"observer", "minmax|percentile|entropy"},
    {"from", "pt|pt2|torchscript|state_dict|index|safetensors|onnx|python"},
    {"to", "pt|torchscript|state_dict|safetensors|onnx"},
    {"method", "@methods"},
    {"entry", "@entries"},
    {"passes", "@passes"},
};

/* The same of a command's own arguments, where its usage does not say it. */
static const char *completion_named(const char *command) {
    return !strcmp(command, "zoo") ? "@zoo" : NULL;
}

static const char completion_quantize[] = "static|dynamic|int8w|int4w|bf16";

/* arg, or a list of values where there is one. */
static const char *completion_argument(const struct argp_option *o) {
    if (!o->arg || completion_is_file(o->arg) || completion_is_words(o->arg)) return o->arg;
    if (!strcmp(o->name, "method") && o->doc && strstr(o->doc, "dynamic"))
        return completion_quantize;
    for (size_t i = 0; i < sizeof completion_values / sizeof *completion_values; i++)
        if (!strcmp(o->name, completion_values[i].option)) return completion_values[i].values;
    return o->arg;
}

/* "bash|zsh|fish" with spaces between. */
static void completion_words(const char *arg) {
    for (; *arg; arg++) putchar(*arg == '|' ? ' ' : *arg);
}

/* A command's name as it is typed. */
static void completion_name(const char *name) {
    for (; *name; name++) putchar(*name == '_' ? '-' : *name);
}

static void completion_all(void) {
    for (int i = 0; i < COMPLETION_COMMANDS; i++)
        completion_name(completion_commands[i].name), putchar(' ');
}

/* text, with a backslash before each of `special`, inside single quotes. */
static void completion_quote(const char *text, const char *special) {
    for (; *text; text++) {
        if (*text == '\'') fputs("'\\''", stdout);
        else if (strchr(special, *text)) printf("\\%c", *text);
        else putchar(*text);
    }
}

static bool completion_is_short(int key) { return key > 0 && key < 128 && isprint(key); }

/* ---- bash ------------------------------------------------------------------------------------ */

static void bash_option(const struct argp_option *o, void *ctx) {
    (void)ctx;
    printf(" --%s%s", o->name, o->arg ? "=" : "");
    if (completion_is_short(o->key) && o->key != '?') printf(" -%c", o->key);
}

static void bash_value(const struct argp_option *o, void *ctx) {
    (void)ctx;
    if (!o->arg) return;
    printf("        --%s", o->name);
    if (completion_is_short(o->key)) printf("|-%c", o->key);
    fputs(") ", stdout);
    const char *arg = completion_argument(o);
    if (completion_is_file(arg)) fputs("_ctsc_files", stdout);
    else if (*arg == '@') printf("_ctsc_names %s", arg + 1);
    else if (completion_is_words(arg))
        fputs("_ctsc_words '", stdout), completion_words(arg), putchar('\'');
    else putchar(':');
    fputs("; return ;;\n", stdout);
}

static void bash_command(const struct completion_command *c) {
    const char *arg = completion_positional(c->argp), *named = completion_named(c->name);
    fputs("    ", stdout);
    completion_name(c->name);
    fputs(")\n        case $prev in\n", stdout);
    completion_walk_all(c->argp, bash_value, NULL);
    fputs("        esac\n        case $cur in\n        -*) _ctsc_words '", stdout);
    completion_walk_all(c->argp, bash_option, NULL);
    fputs("'; return ;;\n        esac\n        ", stdout);
    if (named) printf("_ctsc_names %s\n", named + 1);
    else if (completion_is_file(arg)) puts("_ctsc_files");
    else if (completion_is_words(arg))
        fputs("_ctsc_words '", stdout), completion_words(arg), puts("'");
    else puts(":");
    puts("        ;;");
}

static void completion_bash(void) {
    fputs("# bash completion for ctsc: source <(ctsc completion bash)\n"
          "_ctsc_words() {\n"
          "    COMPREPLY=($(compgen -W \"$1\" -- \"$cur\"))\n"
          "    [[ ${COMPREPLY-} == *= ]] && compopt -o nospace 2>/dev/null\n"
          "}\n"
          "_ctsc_files() {\n"
          "    local IFS=$'\\n'\n"
          "    compopt -o filenames 2>/dev/null\n"
          "    COMPREPLY=($(compgen -f -- \"$cur\"))\n"
          "}\n"
          "_ctsc_names() {\n"
          "    local w file= before=\n"
          "    for w in \"${COMP_WORDS[@]:2}\"; do [[ -f $w ]] && file=$w && break; done\n"
          "    [[ $cur == *,* ]] && before=${cur%,*},\n"
          "    COMPREPLY=($(compgen -P \"$before\" -W \"$(ctsc completion --names=\"$1:$file\" "
          "2>/dev/null)\" -- \"${cur##*,}\"))\n"
          "}\n"
          "_ctsc() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    COMPREPLY=()\n"
          "    # --option=value is three words here\n"
          "    if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then "
          "prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
          "    local at=1 # where the command is, after the options before it\n"
          "    while ((at < COMP_CWORD)); do\n"
          "        case ${COMP_WORDS[at]} in\n",
          stdout);
    for (size_t i = 0; i < COMPLETION_OPTIONS; i++)
        if (completion_options[i].arg)
            printf(
                "        --%s) ((at++)); [[ ${COMP_WORDS[at]-} == = ]] && ((at++)); ((at++)) ;;\n",
                completion_options[i].name);
    fputs("        *) break ;;\n        esac\n    done\n    if ((at >= COMP_CWORD)); then\n        "
          "case $prev in\n",
          stdout);
    completion_walk_options(completion_options, bash_value, NULL);
    fputs("        esac\n        _ctsc_words 'help ", stdout);
    completion_all();
    completion_walk_options(completion_options, bash_option, NULL);
    fputs("'\n        return\n    fi\n    case ${COMP_WORDS[at]} in\n", stdout);
    for (int i = 0; i < COMPLETION_COMMANDS; i++) bash_command(&completion_commands[i]);
    fputs("    help) ((at + 1 == COMP_CWORD)) && _ctsc_words '", stdout);
    completion_all();
    puts("' ;;");
    fputs("    esac\n}\ncomplete -F _ctsc ctsc\n", stdout);
}

/* ---- zsh ------------------------------------------------------------------------------------- */

/* "(one two)": zsh takes a colon for the end of it. */
static void zsh_words(const char *arg) {
    putchar('(');
    for (; *arg; arg++) {
        if (*arg == ':') putchar('\\');
        putchar(*arg == '|' ? ' ' : *arg);
    }
    putchar(')');
}

/* ":NAME:what completes it" */
static void zsh_argument(const char *arg) {
    putchar(':');
    completion_quote(*arg == '@' ? arg + 1 : arg, ":");
    putchar(':');
    if (completion_is_file(arg)) fputs("_files", stdout);
    else if (*arg == '@') printf("{_ctsc_names %s}", arg + 1);
    else if (completion_is_words(arg)) zsh_words(arg);
    else putchar(' ');
}

static void zsh_form(const struct argp_option *o, const char *form) {
    printf(" \\\n            '*%s[", form);
    completion_quote(o->doc ? o->doc : "", "[]:\\");
    putchar(']');
    if (o->arg) zsh_argument(completion_argument(o));
    putchar('\'');
}

static void zsh_option(const struct argp_option *o, void *ctx) {
    char form[80];
    (void)ctx;
    snprintf(form, sizeof form, "--%s%s", o->name, o->arg ? "=" : "");
    zsh_form(o, form);
    if (!completion_is_short(o->key) || o->key == '?') return;
    snprintf(form, sizeof form, "-%c%s", o->key, o->arg ? "+" : "");
    zsh_form(o, form);
}

static void completion_zsh(void) {
    fputs("#compdef ctsc\n# zsh completion for ctsc: source <(ctsc completion zsh), or a file "
          "_ctsc in a folder of $fpath\n"
          "_ctsc_names() {\n"
          "    local w file\n"
          "    for w in ${words[2,-1]}; do [[ -f $w ]] && file=$w && break; done\n"
          "    compset -P '*,'\n"
          "    compadd -- ${(f)\"$(ctsc completion --names=$1:$file 2>/dev/null)\"}\n"
          "}\n"
          "_ctsc() {\n    local -a commands=(\n",
          stdout);
    for (int i = 0; i < COMPLETION_COMMANDS; i++) {
        fputs("        '", stdout);
        completion_name(completion_commands[i].name);
        putchar(':');
        completion_quote(completion_commands[i].text, ":\\");
        puts("'");
    }
    fputs(
        "    )\n    local -i at=2\n    while (( at < CURRENT )); do\n        case $words[at] in\n",
        stdout);
    for (size_t i = 0; i < COMPLETION_OPTIONS; i++)
        if (completion_options[i].arg)
            printf("        --%s=*) (( at++ )) ;;\n        --%s) (( at += 2 )) ;;\n",
                   completion_options[i].name, completion_options[i].name);
    fputs("        *) break ;;\n        esac\n    done\n    if (( CURRENT <= at )); then\n        "
          "_describe command commands\n        _arguments",
          stdout);
    completion_walk_options(completion_options, zsh_option, NULL);
    fputs("\n        return\n    fi\n    local command=$words[at]\n    shift $(( at - 1 )) words\n "
          "   (( CURRENT -= at - 1 ))\n    case $command in\n",
          stdout);
    for (int i = 0; i < COMPLETION_COMMANDS; i++) {
        const struct argp *a = completion_commands[i].argp;
        const char *named = completion_named(completion_commands[i].name),
                   *arg = named ? named : completion_positional(a);
        fputs("    ", stdout);
        completion_name(completion_commands[i].name);
        fputs(")\n        _arguments", stdout);
        completion_walk_all(a, zsh_option, NULL);
        if (arg) fputs(" \\\n            '*", stdout), zsh_argument(arg), putchar('\'');
        puts(" ;;");
    }
    fputs("    help) _describe command commands ;;\n", stdout);
    fputs("    esac\n}\nif [[ $funcstack[1] == _ctsc ]]; then _ctsc \"$@\"; else compdef _ctsc "
          "ctsc; fi\n",
          stdout);
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void fish_condition(const char *command) {
    fputs("complete -c ctsc -n '__fish_seen_subcommand_from ", stdout);
    completion_name(command);
    putchar('\'');
}

static void fish_values(const char *arg) {
    if (completion_is_file(arg)) fputs(" -r -F", stdout);
    else if (*arg == '@') printf(" -x -a '(__ctsc_names %s)'", arg + 1);
    else if (completion_is_words(arg))
        fputs(" -x -a '", stdout), completion_words(arg), putchar('\'');
    else fputs(" -x", stdout);
}

static void fish_text(const char *text) {
    fputs(" -d '", stdout);
    for (const char *p = text ? text : ""; *p; p++) { /* fish knows \' inside quotes */
        if (*p == '\'' || *p == '\\') putchar('\\');
        putchar(*p);
    }
    puts("'");
}

/* ctx: the command's name; NULL: before one. */
static void fish_option(const struct argp_option *o, void *ctx) {
    if (ctx) fish_condition(ctx);
    else fputs("complete -c ctsc -n __fish_use_subcommand", stdout);
    printf(" -l %s", o->name);
    if (completion_is_short(o->key) && o->key != '?') printf(" -s %c", o->key);
    if (o->arg) fish_values(completion_argument(o));
    fish_text(o->doc);
}

static void completion_fish(void) {
    puts("# fish completion for ctsc: ctsc completion fish | source\n"
         "function __ctsc_names\n"
         "    set -l file\n"
         "    for w in (commandline -opc)[3..-1]\n"
         "        test -f $w; and set file $w; and break\n"
         "    end\n"
         "    set -l before (string match -r '.*,' -- (commandline -ct))\n"
         "    string replace -r '^' \"$before\" -- (ctsc completion --names=$argv[1]:$file "
         "2>/dev/null)\n"
         "end\n"
         "complete -c ctsc -f");
    completion_walk_options(completion_options, fish_option, NULL);
    fputs("complete -c ctsc -n '__fish_seen_subcommand_from help' -a '", stdout);
    completion_all();
    puts("'");
    for (int i = 0; i < COMPLETION_COMMANDS; i++) {
        const struct completion_command *c = &completion_commands[i];
        const char *named = completion_named(c->name),
                   *arg = named ? named : completion_positional(c->argp);
        fputs("complete -c ctsc -n __fish_use_subcommand -a ", stdout);
        completion_name(c->name);
        fish_text(c->text);
        if (completion_is_file(arg)) fish_condition(c->name), puts(" -F");
        else if (completion_is_words(arg))
            fish_condition(c->name), fputs(" -a '", stdout), completion_words(arg), puts("'");
        else if (named) fish_condition(c->name), printf(" -a '(__ctsc_names %s)'\n", named + 1);
        completion_walk_all(c->argp, fish_option, (void *)c->name);
    }
}

/* ---- the command ----------------------------------------------------------------------------- */

static const struct { const char *name; void (*print)(void); } completion_shells[] = {
    {"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};

/* ---- names that the scripts ask for, a line each --------------------------------------------- */

static int completion_methods(const char *path) {
    ctsc_module *m = NULL;
    cli_model model = {.path = path};
    ctsc_error *e = ctsc_error_new();
    int code = cli_load(&model, &m, e);
    for (size_t i = 0; !code && i < ctsc_module_method_count(m); i++)
        puts(ctsc_module_method_name(m, i));
    ctsc_module_free(m);
    ctsc_error_free(e);
    return code;
}

/* Classes and functions of a source file, as its lines begin. */
static int completion_entries(const char *path) {
    FILE *f = cli_is_source(path) ? fopen(path, "r") : NULL;
    char *line = NULL;
    size_t size = 0;
    while (f && getline(&line, &size, f) > 0) {
        const char *name = !strncmp(line, "class ", 6) ? line + 6
                           : !strncmp(line, "def ", 4) ? line + 4
                                                       : "";
        int n = 0;
        while (isalnum((unsigned char)name[n]) || name[n] == '_') n++;
        if (n) printf("%.*s\n", n, name);
    }
    free(line);
    if (f) fclose(f);
    return 0;
}

static void completion_pass(void *ctx, const char *name, const char *text) {
    (void)ctx, (void)text;
    puts(name);
}

static int completion_passes(const char *path) {
    (void)path;
    ctsc_passes(completion_pass, NULL);
    return 0;
}

static int completion_zoo(const char *path) {
    char command[] = "ctsc zoo", names[] = "--names", *argv[] = {command, names, NULL};
    (void)path;
    cli_zoo_examples();
    return cmd_zoo(2, argv);
}

/* "KIND:FILE" */
static int completion_names(const char *what) {
    static const struct { const char *kind; int (*print)(const char *path); } kinds[] = {
        {"methods:", completion_methods},
        {"entries:", completion_entries},
        {"passes:", completion_passes},
        {"zoo:", completion_zoo},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t n = strlen(kinds[i].kind);
        if (!strncmp(what, kinds[i].kind, n)) return kinds[i].print(what + n);
    }
    return CTSC_USAGE;
}

enum { OPT_NAMES = 256 };
static const struct argp_option completion_own[] = {
    {"names", OPT_NAMES, "KIND:FILE", OPTION_HIDDEN, "names for the scripts", 0}, {0}};

static error_t completion_parse(int key, char *arg, struct argp_state *state) {
    void (**print)(void) = state->input;
    switch (key) {
    case OPT_NAMES: exit(completion_names(arg));
    case ARGP_KEY_ARG:
        if (*print) argp_error(state, "one shell is expected: '%s' is one argument too many", arg);
        for (size_t i = 0; i < sizeof completion_shells / sizeof *completion_shells; i++)
            if (!strcmp(arg, completion_shells[i].name)) *print = completion_shells[i].print;
        if (!*print) argp_error(state, "'%s' is none of bash, zsh and fish", arg);
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "which shell: bash, zsh or fish?"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cmd_completion_argp = {
    completion_own,
    completion_parse,
    "bash|zsh|fish",
    "Prints a script that teaches the shell ctsc's commands, their options and files.\v"
    "bash: source <(ctsc completion bash)\nzsh: source <(ctsc completion zsh)\nfish: ctsc "
    "completion fish | source",
    NULL,
    NULL,
    NULL};

int cmd_completion(int argc, char **argv) {
    void (*print)(void) = NULL;
    cli_parse_args(&cmd_completion_argp, argc, argv, &print);
    print();
    return 0;
}
