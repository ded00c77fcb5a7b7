/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_write.h - files that appear whole or not at all.
 */
#ifndef CTSC_RUNTIME_ARCHIVE_FILE_WRITE_H
#define CTSC_RUNTIME_ARCHIVE_FILE_WRITE_H

#include "base/diag.h"

typedef struct file_writer file_writer;

/* Begins a file that will replace `path` when it is committed: until then it
 * is next to it under a temporary name. A link stays a link: its target is
 * replaced. Errors of the system are CTSC_ENVIRONMENT and name the file. */
ctsc_status file_writer_open(diag *d, const char *path, file_writer **out);
/* Appends; data is not kept. */
ctsc_status file_write(file_writer *w, diag *d, const void *data, size_t n);
uint64_t file_writer_offset(const file_writer *w); /* how much was appended */
/* Waits for the disk and puts the file in place. */
ctsc_status file_writer_commit(file_writer *w, diag *d);
/* Ends the writer; what was not committed leaves no trace. w may be NULL. */
void file_writer_free(file_writer *w);

#endif
