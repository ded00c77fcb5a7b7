/* SPDX-License-Identifier: Apache-2.0 */
/*
 * damage_mutate.c - damages archives where a program looks: in code,
 * pickles and weights, with the checksums of the zip made right.
 *
 * Method: a record is cut into the units of its format (tokens and lines of code, opcodes of a
 * pickle), and units are replaced by ones of the same kind, left out, repeated, swapped or copied
 * from elsewhere in the record. Such files get much further than flipped bits, which the lexer or
 * the unpickler would refuse; those come last.
 */
#include <ctype.h>
#include <inttypes.h>

#include "cpu/convert/crc.h"
#include "damage.h"

/* A unit of a record: bytes [at, at + len). */
typedef struct unit_range { uint32_t at, len; char kind; } unit_range;
typedef VEC(unit_range) units;

int64_t damage_int(rng *r) {
    static const int64_t edges[] = {0,
                                    1,
                                    -1,
                                    2,
                                    3,
                                    7,
                                    8,
                                    16,
                                    64,
                                    127,
                                    128,
                                    255,
                                    256,
                                    1000,
                                    32768,
                                    65535,
                                    65536,
                                    1 << 20,
                                    INT32_MAX,
                                    INT32_MIN,
                                    (int64_t)INT32_MAX + 1,
                                    UINT32_MAX,
                                    (int64_t)1 << 40,
                                    (int64_t)1 << 61,
                                    (int64_t)1 << 62,
                                    INT64_MAX,
                                    INT64_MIN,
                                    INT64_MIN + 1,
                                    INT64_MAX - 7,
                                    -2,
                                    -3};
    size_t i = rng_below(r, sizeof edges / sizeof *edges + 8);
    return i < sizeof edges / sizeof *edges ? edges[i] : (int64_t)rng_below(r, 12) - 3;
}

static unit_range pick(rng *r, const units *u) {
    return u->len ? u->data[rng_below(r, u->len)] : (unit_range){0};
}
/* Another unit of this kind; the same one where there is no other. */
static unit_range pick_kind(rng *r, const units *u, unit_range like) {
    for (int tries = 0; tries < 50; tries++) {
        unit_range other = pick(r, u);
        if (other.kind == like.kind && other.at != like.at) return other;
    }
    return like;
}

/* What happens to unit `a` of a text: it becomes `with` (len bytes). */
static void splice(strbuf *out, const uint8_t *p, size_t n, unit_range a, const void *with,
                   size_t len) {
    sb_write(out, (const char *)p, a.at);
    sb_write(out, with, len);
    sb_write(out, (const char *)p + a.at + a.len, n - a.at - a.len);
}

/* Leaves a unit out, repeats it, puts another one in its place, or swaps two. */
static void damage_units(rng *r, const uint8_t *p, size_t n, const units *u, bool same_kind,
                         strbuf *out) {
    unit_range a = pick(r, u), b = same_kind ? pick_kind(r, u, a) : pick(r, u);
    switch (same_kind && rng_below(r, 2) ? 2 : rng_below(r, 4)) {
    case 0: splice(out, p, n, a, "", 0); return;
    case 1: splice(out, p, n, (unit_range){.at = a.at}, p + b.at, b.len); return;
    case 2: splice(out, p, n, a, p + b.at, b.len); return;
    default: break;
    }
    if (a.at > b.at) {
        unit_range c = a;
        a = b;
        b = c;
    }
    if (a.at + a.len > b.at) return splice(out, p, n, a, "", 0);
    sb_write(out, (const char *)p, a.at);
    sb_write(out, (const char *)p + b.at, b.len);
    sb_write(out, (const char *)p + a.at + a.len, b.at - a.at - a.len);
    sb_write(out, (const char *)p + a.at, a.len);
    sb_write(out, (const char *)p + b.at + b.len, n - b.at - b.len);
}

/* Flips bits, sets bytes, cuts the end off or repeats it. */
static void damage_bytes(rng *r, const uint8_t *p, size_t n, strbuf *out) {
    size_t at = out->len;
    sb_write(out, (const char *)p, n);
    if (out->failed || !n) return;
    for (size_t k = 1 + rng_below(r, 4); k > 0; k--) {
        uint8_t *byte = (uint8_t *)out->data + at + rng_below(r, n);
        *byte = rng_below(r, 2) ? *byte ^ (uint8_t)(1u << rng_below(r, 8)) : (uint8_t)rng_next(r);
    }
    if (rng_below(r, 12) == 0) out->len = at + rng_below(r, n);
    else if (rng_below(r, 12) == 0)
        sb_write(out, (const char *)p, rng_below(r, n < 4096 ? n : 4096));
}

/* ---- code ------------------------------------------------------------------------------------ */

static bool word_char(uint8_t c) { return isalnum(c) || c == '_' || c == '.'; }

/* Words with their dots 'w', numbers '0', strings '"', operators of one character
 * 'o', of two 'O'. */
static void code_tokens(const uint8_t *p, size_t n, units *u) {
    for (size_t i = 0; i < n;) {
        size_t at = i;
        char kind;
        if (isspace(p[i])) {
            i++;
            continue;
        }
        if (p[i] == '"' || p[i] == '\'') {
            for (i++; i < n && p[i] != p[at] && p[i] != '\n'; i++)
                if (p[i] == '\\' && i + 1 < n) i++;
            if (i < n) i++;
            kind = '"';
        } else if (word_char(p[i])) {
            kind = isdigit(p[i]) ? '0' : 'w';
            while (i < n && word_char(p[i])) i++;
        } else {
            i++;
            kind = 'o';
            if (i < n && ispunct(p[i]) && p[i] == '=') i++, kind = 'O';
        }
        (void)vec_push(u, ((unit_range){(uint32_t)at, (uint32_t)(i - at), kind}));
    }
}

static void code_lines(const uint8_t *p, size_t n, units *u) {
    for (size_t i = 0, at = 0; i < n; i++)
        if (p[i] == '\n' || i + 1 == n) {
            (void)vec_push(u, ((unit_range){(uint32_t)at, (uint32_t)(i + 1 - at), 'l'}));
            at = i + 1;
        }
}

static const char *code_literal(rng *r, char *buf, size_t size) {
    static const char *const texts[] = {"None",
                                        "True",
                                        "False",
                                        "[]",
                                        "()",
                                        "{}",
                                        "inf",
                                        "nan",
                                        "-inf",
                                        "1e308",
                                        "1e-320",
                                        "-0.",
                                        "1j",
                                        "0.5",
                                        "\"\"",
                                        "\"a\"",
                                        "self",
                                        "x",
                                        "annotate(List[int], [])",
                                        "annotate(List[Tensor], [])",
                                        "annotate(Optional[Tensor], None)",
                                        "[1, 2]",
                                        "[-1]",
                                        "[0, 0]",
                                        "torch.zeros([0])",
                                        "torch.ones([2, 3])",
                                        "torch.arange(5)",
                                        "torch.randn([3, 1, 2])",
                                        "torch.empty([1, 0, 3])",
                                        "torch.tensor(1)",
                                        "unchecked_cast(Tensor, None)",
                                        "uninitialized(Tensor)",
                                        "Tensor",
                                        "torch.rand([4], dtype=7)",
                                        "torch.zeros([2, 2], dtype=11)",
                                        "torch.ones([2], dtype=9)"};
    size_t i = rng_below(r, sizeof texts / sizeof *texts + 12);
    if (i < sizeof texts / sizeof *texts) return texts[i];
    snprintf(buf, size, "%" PRId64, damage_int(r));
    return buf;
}

static void damage_code(rng *r, const uint8_t *p, size_t n, const char *const *operators,
                        size_t count, strbuf *out) {
    units tokens = {0}, lines = {0};
    char buf[64];
    code_tokens(p, n, &tokens);
    code_lines(p, n, &lines);
    unit_range t = pick(r, &tokens);
    switch (rng_below(r, 12)) {
    case 0: damage_units(r, p, n, &tokens, false, out); break;
    case 1:
    case 2: damage_units(r, p, n, &tokens, true, out); break;
    case 3:
    case 4: damage_units(r, p, n, &lines, true, out); break;
    case 5:
    case 6:
    case 7: /* a number or a string becomes another */
        for (int tries = 0; tries < 50 && t.kind != '0' && t.kind != '"'; tries++)
            t = pick(r, &tokens);
        if (rng_below(r, 2)) snprintf(buf, sizeof buf, "%" PRId64, damage_int(r));
        const char *with = rng_below(r, 2)
                               ? code_literal(r, buf, sizeof buf)
                               : (snprintf(buf, sizeof buf, "%" PRId64, damage_int(r)), buf);
        splice(out, p, n, t, with, strlen(with));
        break;
    case 8:
    case 9: /* an operator becomes another: "torch.NAME(" */
        for (int tries = 0; tries < 200 && !(t.len > 6 && !memcmp(p + t.at, "torch.", 6)); tries++)
            t = pick(r, &tokens);
        if (count && t.len > 6 && !memcmp(p + t.at, "torch.", 6)) {
            const char *name = operators[rng_below(r, count)];
            splice(out, p, n, (unit_range){.at = t.at + 6, .len = t.len - 6}, name, strlen(name));
            break;
        } /* fall through */
    case 10: { /* an argument becomes a literal */
        for (int tries = 0; tries < 50 && t.kind != 'w'; tries++) t = pick(r, &tokens);
        const char *text = code_literal(r, buf, sizeof buf);
        splice(out, p, n, t, text, strlen(text));
        break;
    }
    default: damage_bytes(r, p, n, out); break;
    }
    vec_free(&tokens);
    vec_free(&lines);
}

/* ---- pickles --------------------------------------------------------------------------------- */

/* How long the opcode at p is, with its argument; 0: past the end, or unknown. */
static size_t opcode_len(const uint8_t *p, size_t n) {
    const uint8_t *nl;
    switch (*p) {
    case 0x80:
    case 'K':
    case 'q':
    case 'h': return 2;
    case 'M': return 3;
    case 'J':
    case 'r':
    case 'j': return 5;
    case 'G': return 9;
    case 'U':
    case 'C':
    case 0x8a:
    case 0x8c: return n < 2 ? 0 : 2 + (size_t)p[1];
    case 'X':
    case 'T':
    case 'B':
    case 0x8b: return n < 5 ? 0 : 5 + (size_t)le32(p + 1);
    case 'c':
    case 'I':
    case 'F':
    case 'L':
    case 'S':
    case 'V':
    case 'g':
    case 'p':
    case 'P':
        nl = memchr(p, '\n', n);
        if (nl && *p == 'c') nl = memchr(nl + 1, '\n', n - (size_t)(nl + 1 - p));
        return nl ? (size_t)(nl - p) + 1 : 0;
    default: return 1;
    }
}

/* The kind is what opcodes that may replace each other share. */
static void pickle_opcodes_of(const uint8_t *p, size_t n, units *u) {
    for (size_t at = 0, len; at < n && (len = opcode_len(p + at, n - at)) && len <= n - at;
         at += len) {
        char c = (char)p[at];
        (void)vec_push(u, ((unit_range){(uint32_t)at, (uint32_t)len,
                                        strchr("KMJ", c) && c  ? 'K'
                                        : strchr("qr", c) && c ? 'q'
                                        : strchr("hj", c) && c ? 'h'
                                        : len == 1             ? '1'
                                                               : c}));
    }
}

static void damage_pickle(rng *r, const uint8_t *p, size_t n, strbuf *out) {
    units u = {0};
    pickle_opcodes_of(p, n, &u);
    unit_range a = pick(r, &u);
    uint8_t buf[16] = {0};
    switch (rng_below(r, 10)) {
    case 0: damage_units(r, p, n, &u, false, out); break;
    case 1:
    case 2:
    case 3: damage_units(r, p, n, &u, true, out); break;
    /* an int becomes another: sizes, strides, offsets, counts; at times a float or an
     * argument of the memo */
    case 4:
    case 5:
    case 6:
    case 7: {
        bool memo = rng_below(r, 8) == 0;
        for (int tries = 0;
             tries < 50 && a.kind != 'K' && !(memo && a.kind == 'h') && a.kind != 'G'; tries++)
            a = pick(r, &u);
        uint64_t v = (uint64_t)damage_int(r);
        if (a.kind == 'h') {
            buf[0] = 'h';
            buf[1] = (uint8_t)rng_below(r, u.len);
            splice(out, p, n, a, buf, 2);
        } else if (a.kind == 'G') {
            buf[0] = 'G';
            for (int i = 0; i < 8; i++) buf[1 + i] = (uint8_t)rng_next(r);
            if (rng_below(r, 2)) buf[1] = 0x7f, buf[2] = rng_below(r, 2) ? 0xf0 : 0xff;
            splice(out, p, n, a, buf, 9);
        } else {
            buf[0] = 0x8a;
            buf[1] = 8;
            for (int i = 0; i < 8; i++) buf[2 + i] = (uint8_t)(v >> 8 * i);
            splice(out, p, n, a, buf, 10);
        }
        break;
    }
    case 8: { /* an opcode without an argument becomes another */
        static const char plain[] = "(.012N)]}alubteso\x81\x85\x86\x87\x88\x89QR";
        for (int tries = 0; tries < 50 && a.kind != '1'; tries++) a = pick(r, &u);
        splice(out, p, n, a, &plain[rng_below(r, sizeof plain - 1)], 1);
        break;
    }
    default: damage_bytes(r, p, n, out); break;
    }
    vec_free(&u);
}

/* ---- the zip --------------------------------------------------------------------------------- */

static void zip_int(strbuf *sb, uint64_t v, int n) {
    for (int i = 0; i < n; i++, v >>= 8) sb_putc(sb, (char)v);
}

/* The fields that local header and directory have in common. */
static void zip_fields(strbuf *sb, const char *name, uint32_t crc, size_t len) {
    zip_int(sb, 20, 2);
    zip_int(sb, 0, 8); /* flags, method, time, date */
    zip_int(sb, crc, 4);
    zip_int(sb, len, 4);
    zip_int(sb, len, 4);
    zip_int(sb, strlen(name) + 2, 2);
    zip_int(sb, 0, 2);
}

static void zip_record(strbuf *zip, strbuf *dir, const char *name, const void *data, size_t len) {
    uint32_t crc = crc32_update(0, data, len);
    size_t at = zip->len;
    zip_int(zip, 0x04034b50, 4);
    zip_fields(zip, name, crc, len);
    sb_printf(zip, "m/%s", name);
    sb_write(zip, data, len);
    zip_int(dir, 0x02014b50, 4);
    zip_int(dir, 20, 2);
    zip_fields(dir, name, crc, len);
    zip_int(dir, 0, 10); /* comment, volume, attributes */
    zip_int(dir, at, 4);
    sb_printf(dir, "m/%s", name);
}

static bool ends(const char *name, const char *with) {
    size_t n = strlen(name), k = strlen(with);
    return n >= k && !strcmp(name + n - k, with);
}

/* How much a record is worth damaging. */
static size_t record_weight(const char *name) {
    return ends(name, ".py") ? 60 : !strcmp(name, "data.pkl") ? 25 : ends(name, "pkl") ? 4 : 1;
}

static size_t record_choose(rng *r, archive *a) {
    size_t total = 0, n = archive_count(a);
    for (size_t i = 0; i < n; i++) total += record_weight(archive_record_name(a, i));
    size_t at = rng_below(r, total);
    for (size_t i = 0; i < n; i++) {
        size_t w = record_weight(archive_record_name(a, i));
        if (at < w) return i;
        at -= w;
    }
    return 0;
}

static void damage_record(rng *r, const char *name, strbuf *sb, const char *const *operators,
                          size_t n) {
    for (size_t times = rng_below(r, 3) ? 1 : 1 + rng_below(r, 3); times > 0 && !sb->failed;
         times--) {
        strbuf next = STRBUF_INIT;
        const uint8_t *p = (const uint8_t *)sb_str(sb);
        if (rng_below(r, 40) == 0) damage_bytes(r, p, sb->len, &next);
        else if (ends(name, ".py")) damage_code(r, p, sb->len, operators, n, &next);
        else if (ends(name, ".pkl") || ends(name, ".debug_pkl"))
            damage_pickle(r, p, sb->len, &next);
        else damage_bytes(r, p, sb->len, &next);
        sb_free(sb);
        *sb = next;
    }
}

void damage_archive(rng *r, const uint8_t *data, size_t size, const char *const *operators,
                    size_t n, strbuf *out) {
    reader rd;
    archive *a;
    if (rng_below(r, 16) == 0 || reader_open_memory(NULL, data, size, &rd) != CTSC_OK ||
        archive_open(NULL, rd, &a) != CTSC_OK) {
        /* Of the zip itself the directory at the end is what is looked at most. */
        size_t tail = rng_below(r, 2) && size > 2048 ? size - 2048 : 0;
        sb_write(out, (const char *)data, tail);
        damage_bytes(r, data + tail, size - tail, out);
        return;
    }
    strbuf dir = STRBUF_INIT;
    size_t count = archive_count(a), records = 0;
    size_t first = record_choose(r, a), second = rng_below(r, 4) ? first : record_choose(r, a);
    bool whole = rng_below(r, 30) == 0; /* a record left out, or there twice, instead of damaged */
    size_t copies = whole ? 2 * rng_below(r, 2) : 1;
    for (size_t i = 0; i < count; i++) {
        const char *name = archive_record_name(a, i);
        storage *st = NULL;
        if (archive_read(a, NULL, name, &st) != CTSC_OK) continue;
        strbuf sb = STRBUF_INIT;
        sb_write(&sb, st->data, st->nbytes);
        storage_unref(st);
        bool chosen = i == first || i == second;
        if (chosen && !whole) damage_record(r, name, &sb, operators, n);
        for (size_t k = chosen ? copies : 1; k > 0; k--, records++)
            zip_record(out, &dir, name, sb_str(&sb), sb.len);
        sb_free(&sb);
    }
    archive_unref(a);
    size_t start = out->len;
    sb_write(out, sb_str(&dir), dir.len);
    zip_int(out, 0x06054b50, 4);
    zip_int(out, 0, 4);
    zip_int(out, records, 2);
    zip_int(out, records, 2);
    zip_int(out, dir.len, 4);
    zip_int(out, start, 4);
    zip_int(out, 0, 2);
    sb_free(&dir);
}
