/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - the smallest useful program: loads an archive, runs it on zeros, prints the result. */
#include <ctsc.h>

#include <stdio.h>

int main(int argc, char **argv) {
    ctsc_error *error = ctsc_error_new();
    ctsc_module *module = NULL;
    ctsc_value *input = NULL, *output = NULL;
    int64_t sizes[] = {1, 1, 8, 8};
    if (ctsc_module_load(argc > 1 ? argv[1] : "models/digits_cnn.pt", &module, error) == CTSC_OK &&
        ctsc_tensor_new(CTSC_FLOAT32, 4, sizes, &input, error) == CTSC_OK &&
        ctsc_module_run(module, "forward", 1, &input, NULL, &output, error) == CTSC_OK) {
        char *text = ctsc_value_print(output);
        puts(text);
        ctsc_string_free(text);
    } else {
        fprintf(stderr, "%s\n", ctsc_error_message(error));
    }
    int code = ctsc_error_status(error);
    ctsc_value_free(output), ctsc_value_free(input), ctsc_module_free(module),
        ctsc_error_free(error);
    return code;
}
