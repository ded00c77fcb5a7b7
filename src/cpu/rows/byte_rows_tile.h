/* SPDX-License-Identifier: Apache-2.0 */
/*
 * byte_rows_tile.h - the functions of byte_rows.h except tables, as text, for one set of vectors.
 *
 * Included with these defined; all are undefined afterwards:
 *     V, F, LANES             vectors of int32 and of float, lanes of one
 *     NAME(x), TARGET         names of what is defined here, and the attribute for the instructions
 *     GET(p, n)               n bytes, and zeros, as a vector of 4 * LANES
 *     PUT(p, v, n)            n bytes of it
 *     LOADF(p)                a vector of float
 *     FLOAT INT ADDF SUBF MULF FMA SETF
 *     SET8 SET16              a number in each lane of 8 or 16 bits
 *     LO8 HI8 LO16 HI16       interleaving within 128 bits
 *     PACK16 PACK8            four bytes to two and two to one, saturating, within 128 bits
 *     ADD16 MIN8 MAX8         of two bytes, saturating; of bytes
 */

/* Bytes as floats, in the order that interleaving with zeros produces. */
static inline __attribute__((always_inline)) TARGET void NAME(floats)(V bytes, F *f) {
    V none = SET8(0), low = LO8(bytes, none), high = HI8(bytes, none);
    f[0] = FLOAT(LO16(low, none));
    f[1] = FLOAT(HI16(low, none));
    f[2] = FLOAT(LO16(high, none));
    f[3] = FLOAT(HI16(high, none));
}

typedef struct NAME(ends) {
    V zero, lo, hi;
} NAME(ends);

static inline __attribute__((always_inline)) TARGET V NAME(bytes)(const F *f,
                                                                  const NAME(ends) * e) {
    V low = ADD16(PACK16(INT(f[0]), INT(f[1])), e->zero),
      high = ADD16(PACK16(INT(f[2]), INT(f[3])), e->zero);
    return MAX8(MIN8(PACK8(low, high), e->hi), e->lo);
}

#define ENDS(r) {SET16((int16_t)(r)->zero), SET8((char)(r)->lo), SET8((char)(r)->hi)}
#define BLOCKS(n)                                                                                  \
    for (int64_t i = 0, left; (left = (n) - i < 4 * LANES ? (n) - i : 4 * LANES) > 0;              \
         i += 4 * LANES)

static TARGET void NAME(sum)(const byte_pair *r, const uint8_t *a, const uint8_t *b, int64_t n,
                             uint8_t *out) {
    F a_scale = SETF(r->a_scale), b_scale = SETF(r->b_scale), a_start = SETF(r->a_start),
      b_start = SETF(r->b_start), scale = SETF(r->scale);
    NAME(ends) ends = ENDS(r);
    BLOCKS(n) {
        F x[4], y[4];
        NAME(floats)(GET(a + i, left), x);
        NAME(floats)(GET(b + i, left), y);
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++)
            x[k] = MULF(ADDF(FMA(a_scale, x[k], a_start), FMA(b_scale, y[k], b_start)), scale);
        PUT(out + i, NAME(bytes)(x, &ends), left);
    }
}

static TARGET void NAME(product)(const byte_pair *r, const uint8_t *a, const uint8_t *b, int64_t n,
                                 uint8_t *out) {
    F a_zero = SETF(r->a_zero), b_zero = SETF(r->b_zero), scale = SETF(r->scale);
    NAME(ends) ends = ENDS(r);
    BLOCKS(n) {
        F x[4], y[4];
        NAME(floats)(GET(a + i, left), x);
        NAME(floats)(GET(b + i, left), y);
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++)
            x[k] = MULF(MULF(SUBF(x[k], a_zero), SUBF(y[k], b_zero)), scale);
        PUT(out + i, NAME(bytes)(x, &ends), left);
    }
}

static TARGET void NAME(line)(const byte_line *r, const uint8_t *x, int64_t n, uint8_t *out) {
    NAME(ends) ends = ENDS(r);
    BLOCKS(n) {
        F f[4];
        NAME(floats)(GET(x + i, left), f);
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++)
            f[k] = FMA(f[k], LOADF(r->scale + i + k * LANES), LOADF(r->start + i + k * LANES));
        PUT(out + i, NAME(bytes)(f, &ends), left);
    }
}

#undef ENDS
#undef BLOCKS
#undef V
#undef F
#undef LANES
#undef NAME
#undef TARGET
#undef GET
#undef PUT
#undef LOADF
#undef FLOAT
#undef INT
#undef ADDF
#undef SUBF
#undef MULF
#undef FMA
#undef SETF
#undef SET8
#undef SET16
#undef LO8
#undef HI8
#undef LO16
#undef HI16
#undef PACK16
#undef PACK8
#undef ADD16
#undef MIN8
#undef MAX8
