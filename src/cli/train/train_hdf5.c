/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_hdf5.c - HDF5: the numeric datasets of a file, by their paths ("train/images"), read by
 * libhdf5, 1.10 or later, which is opened at its first use.
 *
 * Only what is in the file itself counts: soft and external links, virtual datasets and external
 * storage would read other files, and are refused or left out. Sizes are compared with the memory
 * before anything is read. This runs in a process of its own (train_apart.c).
 * Tests: tests/cli/train-data.test
 */
#include "cli/train/train_data.h"

#include <stdlib.h>
#include <string.h>

/* libhdf5's types and numbers, the same since 1.10. */
typedef int64_t hid;
typedef unsigned long long hsize;
enum {
    H5_OK_VERSION = 10,
    H5_GROUP = 2,
    H5_DATASET = 5,
    H5_INTEGER = 0,
    H5_FLOAT = 1,
    H5_ENUM = 8
};
enum { H5_BY_NAME = 0, H5_INCREASING = 0, H5_VIRTUAL = 3, H5_HARD = 0 };
enum { HDF5_DIMS = 8, HDF5_DEPTH = 16, HDF5_PATH = 1000, HDF5_LINKS = 100000 };

/* All that is called: result, name, the name to look for, parameters. */
/* clang-format off */
#define HDF5_FUNCTIONS(X)                                                                          \
    X(int, open, "H5open", (void))                                                                 \
    X(int, version, "H5get_libversion", (unsigned *, unsigned *, unsigned *))                      \
    X(int, silence, "H5Eset_auto2", (hid, void *, void *))                                         \
    X(hid, file_open, "H5Fopen", (const char *, unsigned, hid))                                    \
    X(hid, object_open, "H5Oopen", (hid, const char *, hid))                                       \
    X(int, object_close, "H5Oclose", (hid))                                                        \
    X(int, kind, "H5Iget_type", (hid))                                                             \
    X(int, group_info, "H5Gget_info", (hid, void *))                                               \
    X(ptrdiff_t, link_name, "H5Lget_name_by_idx",                                                  \
      (hid, const char *, int, int, hsize, char *, size_t, hid))                                   \
    X(int, link_info, "H5Lget_info2|H5Lget_info", (hid, const char *, void *, hid))                \
    X(hid, dataset_type, "H5Dget_type", (hid))                                                     \
    X(hid, dataset_space, "H5Dget_space", (hid))                                                   \
    X(hid, dataset_plist, "H5Dget_create_plist", (hid))                                            \
    X(int, layout, "H5Pget_layout", (hid))                                                         \
    X(int, external, "H5Pget_external_count", (hid))                                               \
    X(int, type_class, "H5Tget_class", (hid))                                                      \
    X(size_t, type_size, "H5Tget_size", (hid))                                                     \
    X(int, type_sign, "H5Tget_sign", (hid))                                                        \
    X(int, ndims, "H5Sget_simple_extent_ndims", (hid))                                             \
    X(int, dims, "H5Sget_simple_extent_dims", (hid, hsize *, hsize *))                             \
    X(int, read, "H5Dread", (hid, hid, hid, hid, hid, void *))
/* clang-format on */

typedef struct hdf5_library {
#define HDF5_FIELD(result, name, symbol, parameters) result(*name) parameters;
    HDF5_FUNCTIONS(HDF5_FIELD)
#undef HDF5_FIELD
        const hid *native_float, *native_double, *native_int8, *native_uint8, *native_int16,
        *native_int32, *native_int64, *native_uint64;
} hdf5_library;

typedef struct hdf5 {
    hdf5_library lib;
    const char *path;
    data_list *list;
    size_t links; /* seen so far */
} hdf5;

static int hdf5_open_library(hdf5_library *lib) {
    static const char *const libraries[] = {
        "libhdf5.so.320", "libhdf5.so.310",    "libhdf5_serial.so.310",
        "libhdf5.so.200", "libhdf5.so.103",    "libhdf5_serial.so.103",
        "libhdf5.so",     "libhdf5_serial.so", NULL};
    static const char *const names[] = {
#define HDF5_NAME(result, name, symbol, parameters) symbol,
        HDF5_FUNCTIONS(HDF5_NAME)
#undef HDF5_NAME
        "H5T_NATIVE_FLOAT_g",      "H5T_NATIVE_DOUBLE_g", "H5T_NATIVE_INT8_g",
        "H5T_NATIVE_UINT8_g",      "H5T_NATIVE_INT16_g",  "H5T_NATIVE_INT32_g",
        "H5T_NATIVE_INT64_g",      "H5T_NATIVE_UINT64_g"};
    unsigned major = 0, minor = 0, release = 0;
    _Static_assert(sizeof *lib == sizeof names / sizeof *names * sizeof(void *), "a field each");
    void *found[sizeof names / sizeof *names];
    if (!data_open_library(libraries, sizeof names / sizeof *names, names, found))
        return cli_complain(CTSC_ENVIRONMENT,
                            "HDF5 is read by libhdf5, 1.10 or later, which is not "
                            "installed (Debian: libhdf5-310 or libhdf5-103-1)");
    memcpy(lib, found, sizeof *lib);
    if (lib->open() < 0 || lib->version(&major, &minor, &release) < 0 ||
        (major == 1 && minor < H5_OK_VERSION))
        return cli_complain(CTSC_ENVIRONMENT, "libhdf5 %u.%u is too old: 1.10 is needed", major,
                            minor);
    lib->silence(0, NULL, NULL);
    return 0;
}

static int hdf5_fail(const hdf5 *h, const char *name, const char *why) {
    return cli_complain(CTSC_BAD_FILE, "%s: '%s': %s", h->path, name, why);
}

/* ---- a dataset ------------------------------------------------------------------------------- */

/* What its elements become, and *memory, the type requested from libhdf5; false: they are not
 * numbers that ctsc has. */
static bool hdf5_dtype(const hdf5_library *lib, hid type, ctsc_dtype *out, hid *memory) {
    int class = lib->type_class(type);
    size_t size = lib->type_size(type);
    bool is_unsigned = class == H5_INTEGER && lib->type_sign(type) == 0;
    const struct { bool is; ctsc_dtype dtype; hid memory; } forms[] = {
        {class == H5_FLOAT && size <= 4, CTSC_FLOAT32, *lib->native_float},
        {class == H5_FLOAT && size == 8, CTSC_FLOAT64, *lib->native_double},
        {class == H5_ENUM && size == 1, CTSC_BOOL, type}, /* how h5py writes truth values */
        {class != H5_INTEGER, CTSC_BOOL, -1},
        {size == 1 && is_unsigned, CTSC_UINT8, *lib->native_uint8},
        {size == 1, CTSC_INT8, *lib->native_int8},
        {size == 2 && !is_unsigned, CTSC_INT16, *lib->native_int16},
        {size == 2 || (size == 4 && !is_unsigned), CTSC_INT32, *lib->native_int32},
        {size == 4 || (size == 8 && !is_unsigned), CTSC_INT64, *lib->native_int64},
        {size == 8, CTSC_INT64, *lib->native_uint64},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (!forms[i].is) continue;
        *out = forms[i].dtype;
        *memory = forms[i].memory;
        return *memory >= 0;
    }
    return false;
}

/* Whether the elements mean the same in the tensor: 0 or 1, or below 2^63. */
static bool hdf5_fit(const hdf5_library *lib, const ctsc_value *v, hid memory, int64_t n) {
    const void *data = ctsc_tensor_data(v);
    bool ok = true;
    for (int64_t i = 0; ctsc_tensor_dtype(v) == CTSC_BOOL && i < n; i++)
        ok &= ((const uint8_t *)data)[i] < 2;
    for (int64_t i = 0; memory == *lib->native_uint64 && i < n; i++)
        ok &= ((const int64_t *)data)[i] >= 0;
    return ok;
}

static int hdf5_sizes(const hdf5 *h, hid space, const char *name, int *ndim, int64_t *sizes,
                      size_t bytes) {
    hsize dims[HDF5_DIMS] = {0};
    int64_t all = (int64_t)bytes;
    *ndim = space < 0 ? -1 : h->lib.ndims(space);
    if (*ndim < 0 || *ndim > HDF5_DIMS || h->lib.dims(space, dims, NULL) < 0)
        return hdf5_fail(h, name, "its sizes cannot be read");
    for (int i = 0; i < *ndim; i++) {
        if (dims[i] > (hsize)INT64_MAX) return hdf5_fail(h, name, "it is too large");
        sizes[i] = (int64_t)dims[i];
        all = cli_product(all, sizes[i]);
    }
    return all <= data_memory() ? 0 : hdf5_fail(h, name, "it does not fit into memory");
}

static int hdf5_read(hdf5 *h, hid set, hid type, hid space, const char *name, ctsc_error *e) {
    const hdf5_library *lib = &h->lib;
    ctsc_dtype dtype;
    hid memory;
    int64_t sizes[HDF5_DIMS], n = 1;
    int ndim;
    ctsc_value *v = NULL;
    if (!hdf5_dtype(lib, type, &dtype, &memory)) return 0; /* texts, records: no example is one */
    int code = hdf5_sizes(h, space, name, &ndim, sizes, ctsc_dtype_describe(dtype)->bytes);
    if (code || !ndim) return code; /* a single number is not a list of examples either */
    if (ctsc_tensor_new(dtype, ndim, sizes, &v, e) != CTSC_OK) return cli_report(e);
    for (int i = 0; i < ndim; i++) n *= sizes[i];
    if (lib->read(set, memory, 0, 0, 0, ctsc_tensor_data(v)) < 0)
        code = hdf5_fail(h, name,
                         "its elements cannot be read: they are damaged, or compressed in a "
                         "way that this libhdf5 does not know");
    else if (!hdf5_fit(lib, v, memory, n)) code = hdf5_fail(h, name, "an element is too large");
    if (!code) return data_put(h->list, h->path, name, v);
    ctsc_value_free(v);
    return code;
}

static int hdf5_dataset(hdf5 *h, hid set, const char *name, ctsc_error *e) {
    const hdf5_library *lib = &h->lib;
    hid type = lib->dataset_type(set), space = lib->dataset_space(set),
        plist = lib->dataset_plist(set);
    if (type < 0 || space < 0 || plist < 0) return hdf5_fail(h, name, "it cannot be read");
    if (lib->layout(plist) == H5_VIRTUAL || lib->external(plist) > 0)
        return hdf5_fail(h, name, "its elements are in other files");
    return hdf5_read(h, set, type, space, name, e); /* the process ends soon: nothing is closed */
}

/* ---- groups ---------------------------------------------------------------------------------- */

static int hdf5_group(hdf5 *h, hid group, const char *prefix, int depth, ctsc_error *e);

static int hdf5_link(hdf5 *h, hid group, const char *link, const char *prefix, int depth,
                     ctsc_error *e) {
    struct { int type; char rest[124]; } info = {.type = -1};
    char name[HDF5_PATH];
    const hdf5_library *lib = &h->lib;
    if (++h->links > HDF5_LINKS) return hdf5_fail(h, link, "there are too many objects");
    int len = snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "/" : "", link);
    if (len >= (int)sizeof name) return hdf5_fail(h, link, "its path is too long");
    if (lib->link_info(group, link, &info, 0) < 0) return hdf5_fail(h, name, "it cannot be read");
    if (info.type != H5_HARD) return 0;
    hid object = lib->object_open(group, link, 0);
    if (object < 0) return hdf5_fail(h, name, "it cannot be read");
    int kind = lib->kind(object), code = 0;
    if (kind == H5_GROUP) code = hdf5_group(h, object, name, depth + 1, e);
    else if (kind == H5_DATASET) code = hdf5_dataset(h, object, name, e);
    lib->object_close(object);
    return code;
}

static int hdf5_group(hdf5 *h, hid group, const char *prefix, int depth, ctsc_error *e) {
    struct { int storage; hsize links; char rest[48]; } info = {0};
    const hdf5_library *lib = &h->lib;
    int code = 0;
    if (depth > HDF5_DEPTH) return hdf5_fail(h, prefix, "groups are nested too deep");
    if (lib->group_info(group, &info) < 0) return hdf5_fail(h, prefix, "it cannot be read");
    for (hsize i = 0; i < info.links && !code; i++) {
        char link[HDF5_PATH];
        ptrdiff_t len = lib->link_name(group, ".", H5_BY_NAME, H5_INCREASING, i, link, sizeof link,
                                       0);
        if (len < 0 || len >= (ptrdiff_t)sizeof link)
            code = hdf5_fail(h, prefix, "the name of an object cannot be read");
        else code = hdf5_link(h, group, link, prefix, depth, e);
    }
    return code;
}

int data_read_hdf5(const char *path, const data_reading *how, data_list *l, ctsc_error *e) {
    hdf5 h = {.path = path, .list = l};
    (void)how;
    int code = hdf5_open_library(&h.lib);
    if (code) return code;
    data_enter_sandbox(path);
    hid file = h.lib.file_open(path, 0, 0);
    if (file < 0) return cli_complain(CTSC_BAD_FILE, "%s: no HDF5 file, or a damaged one", path);
    hid root = h.lib.object_open(file, "/", 0);
    if (root < 0) return cli_complain(CTSC_BAD_FILE, "%s: a damaged HDF5 file", path);
    code = hdf5_group(&h, root, "", 0, e);
    if (!code && !l->n)
        code = cli_complain(CTSC_USAGE, "%s: there is no dataset of numbers in it", path);
    return code;
}
