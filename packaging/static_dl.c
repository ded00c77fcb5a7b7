/* SPDX-License-Identifier: Apache-2.0 */
/*
 * static_dl.c - opening libraries, in a program that is one file (packaging/static.mk): it fails.
 *
 * libc's own functions would load a second libc, and only one of the very same version.
 */
#include <dlfcn.h>
#include <stddef.h>

void *dlopen(const char *file, int mode) { return (void)file, (void)mode, NULL; }
void *dlsym(void *restrict library, const char *restrict name) {
    return (void)library, (void)name, NULL;
}
int dlclose(void *library) { return (void)library, -1; }
char *dlerror(void) { return "this ctsc is one file, and opens no libraries"; }
int dlinfo(void *restrict library, int request, void *restrict to) {
    return (void)library, (void)request, (void)to, -1;
}
int dladdr(const void *address, Dl_info *to) { return (void)address, (void)to, 0; }
