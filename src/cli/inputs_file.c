/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inputs_file.c - arguments from files: arrays, what torch.save wrote, and images.
 *
 *     @in.npy   @in.pt          as --inputs reads them, as one argument
 *     @cat.png                  float32[1,3,height,width], red, green, blue from 0 to 1
 *     @cat.jpg:resize=256:crop=224:normalize=0.485,0.456,0.406,0.229,0.224,0.225
 *
 * Method. libpng and libjpeg-turbo (TurboJPEG) decode, by those of their interfaces that return
 * errors instead of jumping; transparency is dropped, orientation tags are not followed, as
 * PIL.Image.open(f).convert("RGB") does. Resizing is the operator that torchvision's resize calls
 * for tensors, antialiased and bilinear. The steps' order is fixed, whatever the options' is: gray,
 * resize, crop, normalize.
 * Tests: tests/cli/inputs.test
 */
#include "cli/inputs.h"

#include <errno.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <turbojpeg.h>
#include <unistd.h>

enum {
    IMAGE_MAX_BYTES = 1 << 30,
    IMAGE_MAX_PIXELS = 1 << 27,
    IMAGE_MAX_SIDE = 1 << 16,
    IMAGE_NUMBERS = 6
};

/* rows of red, green, blue; malloc's */
typedef struct pixels { uint8_t *rgb; int width, height; } pixels;

typedef struct image_options {
    int height, width; /* to resize to; 0: not */
    int side;          /* to resize the shorter side to; 0: not */
    int crop;          /* side of the square that is kept of the middle; 0: all */
    /* one channel; uint8 as in the file; without the dimension of the batch */
    bool gray, bytes, single;
    /* of normalize: means, then deviations, one for all channels or one for each; 0: none */
    int numbers;
    double normalize[IMAGE_NUMBERS];
} image_options;

/* ---- decoding -------------------------------------------------------------------------------- */

static ctsc_status image_fail(const char *path, const char *why) {
    return cli_complain(CTSC_BAD_FILE, "%s: %s", path, why);
}

/* The file's bytes, to be given to free(); NULL: said why not. */
static uint8_t *image_read(const char *path, size_t *size) {
    errno = 0;
    FILE *f = fopen(path, "rb");
    long n = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    bool fits = n > 0 && n <= IMAGE_MAX_BYTES;
    uint8_t *bytes = fits && fseek(f, 0, SEEK_SET) == 0 ? malloc((size_t)n) : NULL;
    if (bytes && fread(bytes, 1, (size_t)n, f) != (size_t)n) {
        free(bytes);
        bytes = NULL;
    }
    int why = errno ? errno : EIO;
    if (f) fclose(f);
    *size = (size_t)n;
    if (!bytes && n == 0) image_fail(path, "the file is empty");
    else if (!bytes && n > IMAGE_MAX_BYTES) image_fail(path, "an image of more than 1 GiB");
    else if (!bytes) cli_cannot_open(path, why);
    return bytes;
}

static ctsc_status image_room(const char *path, int64_t width, int64_t height, int64_t channels,
                              uint8_t **out) {
    if (width < 1 || height < 1 || width > IMAGE_MAX_PIXELS / height)
        return image_fail(path, "an image of this size is not read");
    *out = malloc((size_t)(width * height * channels));
    return *out ? CTSC_OK : cli_complain(CTSC_LIMIT, "out of memory");
}

/* Eight bits a channel. With an alpha channel in the buffer, colours come as they are in the file,
 * not blended with a background. */
static ctsc_status image_png(const char *path, const uint8_t *bytes, size_t size, pixels *out) {
    png_image png = {.version = PNG_IMAGE_VERSION};
    uint8_t *rgba = NULL;
    if (!png_image_begin_read_from_memory(&png, bytes, size)) return image_fail(path, png.message);
    /* which libpng would take for linear light, and brighten */
    if (png.format & PNG_FORMAT_FLAG_LINEAR) {
        png_image_free(&png);
        return image_fail(path, "16 bits a channel are not supported, 8 are");
    }
    png.format = PNG_FORMAT_RGBA;
    ctsc_status s = image_room(path, png.width, png.height, 4, &rgba);
    if (s == CTSC_OK && !png_image_finish_read(&png, NULL, rgba, 0, NULL))
        s = image_fail(path, png.message);
    pixels made = {rgba, (int)png.width, (int)png.height};
    size_t n = (size_t)png.width * png.height;
    png_image_free(&png);
    if (s != CTSC_OK) return free(rgba), s;
    *out = made;
    for (size_t i = 0; i < n; i++) memmove(rgba + 3 * i, rgba + 4 * i, 3);
    return CTSC_OK;
}

static ctsc_status image_jpeg(const char *path, const uint8_t *bytes, size_t size, pixels *out) {
    tjhandle tj = tjInitDecompress();
    int width, height, subsampling, colours;
    uint8_t *rgb = NULL;
    if (!tj) return cli_complain(CTSC_LIMIT, "out of memory");
    ctsc_status s = CTSC_OK;
    if (tjDecompressHeader3(tj, bytes, size, &width, &height, &subsampling, &colours) != 0)
        s = image_fail(path, tjGetErrorStr2(tj));
    if (s == CTSC_OK) s = image_room(path, width, height, 3, &rgb);
    /* A truncated file is decoded as far as it goes, which is an error here:
     * TJFLAG_STOPONWARNING. */
    if (s == CTSC_OK && tjDecompress2(tj, bytes, size, rgb, width, 0, height, TJPF_RGB,
                                      TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING) != 0)
        s = image_fail(path, tjGetErrorStr2(tj));
    tjDestroy(tj);
    if (s != CTSC_OK) return free(rgb), s;
    *out = (pixels){rgb, width, height};
    return CTSC_OK;
}

static const struct image_format {
    const char *begin;
    size_t len;
    ctsc_status (*decode)(const char *, const uint8_t *, size_t, pixels *);
} image_formats[] = {{"\x89PNG\r\n\x1a\n", 8, image_png}, {"\xff\xd8\xff", 3, image_jpeg}};

static const struct image_format *image_format_of(const void *head, size_t n) {
    for (size_t i = 0; i < sizeof image_formats / sizeof *image_formats; i++)
        if (n >= image_formats[i].len &&
            !memcmp(head, image_formats[i].begin, image_formats[i].len))
            return &image_formats[i];
    return NULL;
}

bool inputs_is_image(const char *path) {
    char head[8];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(head, 1, sizeof head, f) : 0;
    if (f) fclose(f);
    return image_format_of(head, n) != NULL;
}

/* ---- options --------------------------------------------------------------------------------- */

static bool image_parse_int(const char *text, char **end, int *out) {
    long v = strtol(text, end, 10);
    *out = (int)v;
    return *end != text && v >= 1 && v <= IMAGE_MAX_SIDE;
}

static bool image_parse_side(image_options *o, const char *text) {
    char *end;
    return image_parse_int(text, &end, &o->side) && !*end;
}

static bool image_parse_crop(image_options *o, const char *text) {
    char *end;
    return image_parse_int(text, &end, &o->crop) && !*end;
}

static bool image_parse_normalize(image_options *o, const char *text) {
    char *end;
    for (o->numbers = 0; o->numbers < IMAGE_NUMBERS; text = end + 1) {
        double x = cli_double(text, &end);
        if (end == text || isnan(x)) return false;
        o->normalize[o->numbers++] = x;
        if (*end != ',') break;
    }
    if (*end || (o->numbers != 2 && o->numbers != 6)) return false;
    for (int i = o->numbers / 2; i < o->numbers; i++)
        if (o->normalize[i] == 0) return false;
    return true;
}

/* What most classifiers were trained with, on ImageNet. */
static bool image_parse_imagenet(image_options *o, const char *text) {
    static const double usual[IMAGE_NUMBERS] = {0.485, 0.456, 0.406, 0.229, 0.224, 0.225};
    if (*text) return false;
    o->side = o->side || o->height ? o->side : 256;
    o->crop = o->crop ? o->crop : 224;
    o->numbers = IMAGE_NUMBERS;
    memcpy(o->normalize, usual, sizeof usual);
    return true;
}

static bool image_parse_gray(image_options *o, const char *text) { return o->gray = true, !*text; }
static bool image_parse_bytes(image_options *o, const char *text) {
    return o->bytes = true, !*text;
}
static bool image_parse_single(image_options *o, const char *text) {
    return o->single = true, !*text;
}

static const struct {
    const char *word;
    bool (*parse)(image_options *o, const char *text);
} image_words[] = {
    {"resize=", image_parse_side},
    {"crop=", image_parse_crop},
    {"normalize=", image_parse_normalize},
    {"imagenet", image_parse_imagenet},
    {"gray", image_parse_gray},
    {"uint8", image_parse_bytes},
    {"chw", image_parse_single},
};

static bool image_parse_option(image_options *o, const char *text) {
    for (size_t i = 0; i < sizeof image_words / sizeof *image_words; i++) {
        size_t n = strlen(image_words[i].word);
        if (!strncmp(text, image_words[i].word, n)) return image_words[i].parse(o, text + n);
    }
    char *end;
    return image_parse_int(text, &end, &o->height) && *end == 'x' &&
           image_parse_int(end + 1, &end, &o->width) && !*end;
}

static ctsc_status image_parse_options(const char *options, image_options *o) {
    char one[256];
    while (*options) {
        size_t n = strcspn(options, ":");
        bool good = n < sizeof one;
        if (good) snprintf(one, sizeof one, "%.*s", (int)n, options);
        if (!good || !image_parse_option(o, one))
            return cli_complain(CTSC_USAGE,
                                "'%.*s' is not an option of an image: HEIGHTxWIDTH, resize=SIDE, "
                                "crop=SIDE, normalize=MEAN,DEVIATION (or three of each), "
                                "imagenet, gray, uint8, chw",
                                (int)n, options);
        options += n + (options[n] == ':');
    }
    if (o->bytes && o->numbers)
        return cli_complain(CTSC_USAGE, "an image as uint8 cannot be normalized");
    if (o->gray && o->numbers == IMAGE_NUMBERS)
        return cli_complain(CTSC_USAGE, "a gray image has one mean and one deviation");
    return CTSC_OK;
}

/* ---- pixels to a tensor ---------------------------------------------------------------------- */

/* float32[1, channels, height, width] of 0 to 255. Gray as ITU-R 601-2 weighs the colours, in the
 * integers that PIL uses. */
static ctsc_status image_planes(const pixels *p, const image_options *o, ctsc_value **out,
                                ctsc_error *e) {
    int channels = o->gray ? 1 : 3;
    int64_t sizes[] = {1, channels, p->height, p->width}, n = (int64_t)p->height * p->width;
    ctsc_status s = ctsc_tensor_new(CTSC_FLOAT32, 4, sizes, out, e);
    if (s != CTSC_OK) return s;
    float *to = ctsc_tensor_data(*out);
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *c = p->rgb + 3 * i;
        if (o->gray)
            to[i] = (float)((c[0] * 19595u + c[1] * 38470u + c[2] * 7471u + 0x8000u) >> 16);
        for (int k = 0; k < 3 && !o->gray; k++) to[k * n + i] = c[k];
    }
    return CTSC_OK;
}

/* Whole numbers again, as an image of bytes has them. */
static ctsc_value *image_resize(ctsc_scope *s, ctsc_value *x, const pixels *p,
                                const image_options *o) {
    int64_t size[] = {o->height, o->width};
    if (o->side) {
        bool wide = p->width >= p->height;
        int shorter = wide ? p->height : p->width, longer = wide ? p->width : p->height;
        size[0] = size[1] = o->side;
        size[wide] = (int64_t)o->side * longer / shorter;
    }
    if ((!size[0] && !size[1]) || (size[0] == p->height && size[1] == p->width)) return x;
    x = ctsc_op(s, "aten::_upsample_bilinear2d_aa", 5, x, ctsc_ints(s, 2, size),
                ctsc_bool(s, false), ctsc_none(s), ctsc_none(s));
    return ctsc_clamp(s, ctsc_round(s, x), 0, 255);
}

static int64_t image_size(const ctsc_value *x, int dim) { return ctsc_tensor_sizes(x)[dim]; }

static ctsc_value *image_crop(ctsc_scope *s, ctsc_value *x, int side) {
    for (int dim = 2; x && dim < 4; dim++)
        x = ctsc_narrow(s, x, dim, llrint((double)(image_size(x, dim) - side) / 2), side);
    return x;
}

static ctsc_value *image_normalize(ctsc_scope *s, ctsc_value *x, const image_options *o) {
    int each = o->numbers / 2;
    int64_t shape[] = {1, each, 1, 1};
    ctsc_value *of[2] = {NULL, NULL};
    for (int k = 0; k < 2; k++) {
        ctsc_value *t = NULL;
        if (ctsc_tensor_new(CTSC_FLOAT32, 4, shape, &t, NULL) == CTSC_OK)
            for (int i = 0; i < each; i++)
                ((float *)ctsc_tensor_data(t))[i] = (float)o->normalize[k * each + i];
        of[k] = ctsc_take(s, t);
    }
    return ctsc_div(s, ctsc_sub(s, x, of[0]), of[1]);
}

static ctsc_status image_tensor(const char *path, const pixels *p, const image_options *o,
                                ctsc_value **out) {
    ctsc_error *e = ctsc_error_new();
    ctsc_scope *s = ctsc_scope_new();
    ctsc_value *x = NULL;
    if (!e || !s)
        return ctsc_error_free(e), ctsc_scope_free(s), cli_complain(CTSC_LIMIT, "out of memory");
    ctsc_status st = image_planes(p, o, &x, e);
    if (st != CTSC_OK) cli_report(e);
    else x = image_resize(s, ctsc_take(s, x), p, o);
    if (st == CTSC_OK && x && o->crop && (image_size(x, 2) < o->crop || image_size(x, 3) < o->crop))
        st = cli_complain(CTSC_USAGE, "%s is smaller than crop=%d: resize it first", path, o->crop);
    if (st == CTSC_OK) {
        if (o->crop) x = image_crop(s, x, o->crop);
        x = o->bytes ? ctsc_to(s, x, CTSC_UINT8) : ctsc_div(s, x, ctsc_float(s, 255));
        if (o->numbers) x = image_normalize(s, x, o);
        x = ctsc_contiguous(s, o->single ? ctsc_squeeze(s, x, 0) : x);
        st = ctsc_scope_status(s);
        if (st != CTSC_OK)
            cli_complain(st, "%s: %s", path, ctsc_error_message(ctsc_scope_error(s)));
        else if (!(*out = ctsc_value_copy(x))) st = cli_complain(CTSC_LIMIT, "out of memory");
    }
    ctsc_scope_free(s);
    ctsc_error_free(e);
    return st;
}

ctsc_status inputs_image(const char *path, const char *options, ctsc_value **out) {
    image_options o = {0};
    pixels p = {0};
    size_t size;
    ctsc_status s = image_parse_options(options, &o);
    if (s != CTSC_OK) return s;
    uint8_t *bytes = image_read(path, &size);
    const struct image_format *format = bytes ? image_format_of(bytes, size) : NULL;
    if (!bytes) return CTSC_BAD_FILE;
    s = format ? format->decode(path, bytes, size, &p)
               : image_fail(path, "neither a PNG nor a JPEG");
    free(bytes);
    if (s == CTSC_OK) s = image_tensor(path, &p, &o, out);
    free(p.rgb);
    return s;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The whole text if there is such a file, else what precedes a ':'. */
char *inputs_path(const char *spec, const char **options) {
    char *path = strdup(spec);
    for (char *colon = path; path && access(path, F_OK) != 0; *colon = '\0')
        if (!(colon = strrchr(path, ':'))) {
            free(path);
            return NULL;
        }
    if (!path) return NULL;
    size_t n = strlen(path);
    *options = spec[n] ? spec + n + 1 : "";
    return path;
}

ctsc_status inputs_file(const char *spec, ctsc_value **out) {
    const char *options = "";
    char *path = inputs_path(spec, &options);
    if (!path) return cli_complain(CTSC_BAD_FILE, "--input @%s: there is no such file", spec);
    ctsc_status s;
    if (inputs_is_image(path)) {
        s = inputs_image(path, options, out);
    } else if (*options) {
        struct stat st;
        bool empty = stat(path, &st) == 0 && S_ISREG(st.st_mode) && !st.st_size;
        s = empty
                ? image_fail(path, "the file is empty")
                : (ctsc_status)cli_complain(CTSC_USAGE,
                                            "--input @%s: '%s' is for images, and %s is neither a "
                                            "PNG nor a JPEG",
                                            spec, options, path);
    } else {
        ctsc_error *e = ctsc_error_new();
        s = ctsc_value_load(path, out, e);
        if (s != CTSC_OK) s = (ctsc_status)cli_report(e);
        ctsc_error_free(e);
    }
    free(path);
    return s;
}
