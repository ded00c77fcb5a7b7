/* SPDX-License-Identifier: Apache-2.0 */
/* inputs.h - the forms an argument can have on the command line, for inputs.c. On failure each says
 * why on stderr and returns the status. */
#ifndef CTSC_CLI_INPUTS_H
#define CTSC_CLI_INPUTS_H

#include "cli/cli.h"

/* "float32[2,3]:rand"; *is_tensor tells whether the text is meant as one (inputs_tensor.c). */
ctsc_status inputs_tensor(const char *spec, bool *is_tensor, ctsc_value **out);
/* The text after '@': "in.npy", "cat.png:imagenet" (inputs_file.c). */
ctsc_status inputs_file(const char *spec, ctsc_value **out);
/* The part of "cat.png:imagenet" before the options: a file or folder that is there, malloc's;
 * *options: what follows the ':', or "". NULL: there is none, or out of memory. */
char *inputs_path(const char *spec, const char **options);
/* The image at path as a tensor; options: "resize=256:crop=224", or "". */
bool inputs_is_image(const char *path);
ctsc_status inputs_image(const char *path, const char *options, ctsc_value **out);

/* The arguments of a method in a dict, such as an .npz file: by their names, or, where no name is
 * an argument's, in order. What is a target (cli_is_target) and no argument is left out; what is
 * not given takes its default. args has room for INPUTS_MOST, all NULL; the caller frees them, also
 * on failure. *n: how many there are. */
enum { INPUTS_MOST = 64 };
ctsc_status inputs_of_dict(const char *file, const ctsc_value *v, const ctsc_signature *sig,
                           const char *method, ctsc_value **args, size_t *n);

#endif
