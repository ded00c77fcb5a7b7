/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.cu - elements from one geometry to another, unchanged, and one element everywhere. SIZE: bytes of an element; WIDE: indices need 64 bits.
 * Geometries are without dimensions of size 1, and with what can be one dimension as one (copy.c).
 */
#if SIZE == 1
typedef unsigned char element;
#elif SIZE == 2
typedef unsigned short element;
#elif SIZE == 4
typedef unsigned int element;
#elif SIZE == 8
typedef unsigned long long element;
#else
typedef struct element { unsigned long long low, high; } element;
#endif

#if WIDE
typedef unsigned long long position;
#else
typedef unsigned int position;
#endif

enum { RANK = 16 };

/* As struct copy_params in copy.c. */
typedef struct params {
    element *to;
    const element *from;
    long long n, sizes[RANK], to_strides[RANK], from_strides[RANK];
    element value[16 / SIZE]; /* of fill, the first */
    int ndim;
} params;

#define FOR_EACH_ELEMENT                                                                                        \
    for (position i = (position)blockIdx.x * blockDim.x + threadIdx.x; i < (position)p.n; i += (position)gridDim.x * blockDim.x)

extern "C" __global__ void move(params p) {
    FOR_EACH_ELEMENT {
        position rest = i;
        long long to = 0, from = 0;
        for (int k = p.ndim - 1; k > 0; k--) {
            position size = (position)p.sizes[k], outer = rest / size, at = rest - outer * size;
            to += at * p.to_strides[k];
            from += at * p.from_strides[k];
            rest = outer;
        }
        p.to[to + rest * p.to_strides[0]] = p.from[from + rest * p.from_strides[0]];
    }
}

extern "C" __global__ void fill(params p) {
    FOR_EACH_ELEMENT {
        position rest = i;
        long long to = 0;
        for (int k = p.ndim - 1; k > 0; k--) {
            position size = (position)p.sizes[k], outer = rest / size;
            to += (rest - outer * size) * p.to_strides[k];
            rest = outer;
        }
        p.to[to + rest * p.to_strides[0]] = p.value[0];
    }
}
