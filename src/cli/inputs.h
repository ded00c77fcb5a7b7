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

#endif
