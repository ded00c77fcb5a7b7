/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_tuning.h - the numbers of the kernels that were chosen because operators are
 * faster with them.
 *
 * Machine: two cores of an AMD EPYC with AVX2 (docs/bench-ops.md).
 * In brackets the benchmark that tells whether a change is a gain: [gemm] make bench-gemm, [NAME]
 * make bench-ops OPS="--only NAME", [models] make bench, [training] bench/training/training.py;
 * [exact] numbers do not affect speed but rounding, and tests know the sums.
 * Those of micro-kernels are in their records and in cpu/cpu_tuning.h; limits are where they are
 * checked; CUDA's are in dense_params.h.
 */
#ifndef CTSC_RUNTIME_KERNELS_ENGINE_KERNEL_TUNING_H
#define CTSC_RUNTIME_KERNELS_ENGINE_KERNEL_TUNING_H

/* Recurrent layers (rnn_prepacked.c). */
enum {
    /* [models] multiplications of a step that are worth a thread's taking them */
    RNN_CHUNK = 1 << 15,
};

/* Products (gemm.c). */
enum {
    GEMM_TINY = 1024,     /* [gemm] multiplications below which BLAS is not worth its call */
    GEMM_TINY_SUMS = 8,   /* [gemm] of a row that are added up side by side */
    GEMM_CHUNK = 1 << 20, /* [gemm] multiplications worth a thread of their own */
    GEMM_LOAD = 4,        /* [gemm] of them in the time that an element of B takes from memory */
    /* [gemm] of a chunk, so that packing the other operand again is paid for */
    GEMM_MIN_COLUMNS = 64,
    GEMM_SHARES = 4,       /* [nets] chunks for a thread at most; */
    GEMM_LARGE = 64,       /* [nets] in GEMM_CHUNK: what has more is no one chunk even so */
    GEMM_PACKS = 24,       /* [gemm] columns that take as long as packing one */
    GEMM_INT_BLOCK = 64,   /* [gemm] columns an integer product accumulates at a time */
    GEMM_SMALL = 48 << 10, /* [gemm] bytes for packing that are taken from the stack */
};

/* [nets] work that is shared as evenly as this is shared well */
#define GEMM_EVEN 1.05

/* Own products (gemm_block.c). */
enum {
    /* [gemm] elements of k that a dot kernel's rows may have: 7 rows of 4 KiB */
    GEMM_DOT_K = 1024,
    /* [gemm] rows (or columns) up to which dot kernels may beat packing, */
    GEMM_DOT_ROWS = 24,
    GEMM_DOT_MORE = 48, /* [gemm] the same where k is at most GEMM_DOT_K, */
    /* [gemm] if they are not more than a part of k: the sums at the end cost as
     * much as some steps */
    GEMM_DOT_SHARE = 10,
    GEMM_DIRECT_ROWS = 18, /* [gemm] rows up to which tiles may read B unpacked, */
    /* [gemm] if its own rows are no longer: each row of a tile is a page of its own otherwise */
    GEMM_DIRECT_COLS = 1024,
    GEMM_ROW_STEPS = 4096, /* [gemm] elements of C that stay in the first cache */
    GEMM_DIRECT_K = 32,    /* [gemm] rows of B that are read together, unpacked */
    GEMM_GROUP = 8,        /* [gemm] panels that are packed together */
    /* [gemm] steps of k in a transposed tile: long rows, for which a panel of A may come from
     * the second cache, */
    GEMM_TRANSPOSED_K = 512,
    /* [gemm] tiles of columns of B that pass all of A before the next ones do: whole lines of C, */
    GEMM_TRANSPOSED_TILES = 8,
    /* [gemm] bytes of A that are packed at once, so that columns of B are read from end to end, */
    GEMM_TRANSPOSED_A = 1 << 20,
    GEMM_TRANSPOSED_LEAST_K = 128,   /* [gemm] steps of k that repay transposing, */
    GEMM_TRANSPOSED_LEAST_COLS = 96, /* [gemm] columns below which dot kernels do as well, */
    /* [gemm] and the part of A's panels, in percent, that may be filled up */
    GEMM_TRANSPOSED_WASTE = 8,
    /* [gemm] steps of k up to which a panel of A and one of B stay in the first cache */
    GEMM_THIN_K = 256,
    GEMM_THIN_ROWS = 64, /* [gemm] rows that repay transposing a thin B */
    /* [models] bytes of a row of A that pass panels that were packed before, at most, */
    GEMM_PREPACKED_K = 4096,
    /* [models] and of all rows: beside two panels in the second cache; */
    GEMM_PREPACKED_A = 640 << 10,
    /* [nets] rows at a stride that is a multiple of this many bytes are copied, with gaps */
    GEMM_LYING_FAR = 4096,
    GEMM_LYING_GAP = 16, /* of this many elements, a thread some rows, */
    GEMM_LYING_ROWS = 16,
    GEMM_LYING_COPY = 8 << 20, /* or packed, where the copy had more bytes */
};

/* Rows that panels of quads pass (quad_matrix.h). */
enum {
    /* [quads] this many rows at a stride that is a multiple of this many bytes are
     * copied, with a gap between them: they would share a few sets of the L1 cache */
    QUAD_FAR_ROWS = 12,
    QUAD_FAR = 2048,
    QUAD_GAP = 64,
};

/* Linear layers of constant float16 and bfloat16 weights (linear_half.c). */
enum {
    HALF_FEW = 48,      /* [linear] rows up to which weights become floats in registers, */
    HALF_COLUMNS = 256, /* [linear] and columns that become float panels for more at a time */
    /* [training] rows from which factors of bfloat16 are packed for kernels of their own */
    GEMM_BF16_ROWS = 4,
    GEMM_BF16_FEW = 32, /* [training] rows up to which a weight is better not packed */
    HALF_LOAD = 4,      /* [linear] few rows wait for memory: so much more work they are */
};

/* Weights of 4 and 8 bits (nbits_product.c). */
enum {
    /* [linear] rows of floats up to which weights become floats in registers */
    NBITS_FEW = 16,
    NBITS_QUADS = 16,        /* [linear] rows from which on they are rounded to bfloat16 */
    NBITS_BLOCK = 256 << 10, /* [linear] bytes of rows that pass the panels together */
    NBITS_PANELS = 1 << 20,  /* [linear] bytes of float panels that are made together */
};

/* What linear layers add (matmul.c). */
enum {
    LINEAR_PATTERN = 4096,    /* [linear] bytes of biases, repeated, that rows are filled from: */
    LINEAR_GRAIN = 64 * 1024, /* [linear] this many bytes are worth a thread */
};

/* Attention (attention_core.c, attention_tiles.c). */
enum {
    ATTENTION_CORE_ROWS = 64, /* [attention] rows whose scores are in memory at a time */
    TILES_FEW_ROWS = 8,       /* [attention] below, most of a vector would be empty */
    QUADS_LEAST = 8,          /* [attention] queries for which keys of bfloat16 are packed */
    TILES_KEYS = 512,         /* [exact] keys in one sum; sums of more are added up */
    TILES_ITEMS = 8,          /* [attention] items that a call should have at least, */
    /* [attention] unless they had fewer rows than this: packing keys has to be paid for */
    TILES_LEAST_ROWS = 128,
};

/* Convolutions (conv_kernels.c, conv_depthwise.c, conv_transpose.c). */
enum {
    /* [convolution] elements of a scratch buffer, roughly: what a core's L2 cache holds */
    CONV_BLOCK = 1 << 17,
    CONV_MIN_COLUMNS = 128, /* [convolution] of a block, even so */
    CONV_ITEMS = 16,        /* [convolution] blocks to aim for in all */
    /* [convolution] up to this many run one after the other, each spread over threads */
    CONV_FEW_ITEMS = 4,
    DEPTHWISE_CHUNK = 32, /* [convolution] outputs whose sums are in registers */
    /* [convolution] elements of a band of rows, which stay in the second cache, */
    DEPTHWISE_LAST_BAND = 1 << 16,
    /* [convolution] and rows that it has at least: neighbours read some of the same ones */
    DEPTHWISE_LAST_LEAST_ROWS = 4,
    /* [half] floats of the rows of an image of 16 bits that are widened, at most */
    DEPTHWISE_LAST_RING = 1 << 20,
    /* [nets] channels of a block at least, where an image is cut into blocks, */
    DEPTHWISE_LAST_BLOCK = 96,
    /* [exact] and a multiple of this many: no line is written by two */
    DEPTHWISE_LAST_LINE = 16,
    DEPTHWISE_LAST_WORK = 1 << 16, /* [nets] multiplications worth a thread of their own */
    CONVT_BLOCK = 1 << 18,   /* [convolution] elements of the columns that are taken together, */
    CONVT_MIN_COLUMNS = 128, /* [convolution] input positions of them at least, */
    CONVT_CHANNELS = 8,      /* [convolution] and output channels at most */
    /* [training] places of an image up to which several are done together, */
    CONV_TOGETHER_PLANE = 256,
    CONV_TOGETHER_ELEMENTS = 1 << 18, /* [training] this many elements of them at a time, */
    CONV_TOGETHER_COLUMNS = 1024,     /* [training] but this many places at least */
    /* [training] rows of the unfolded matrix in a chunk of a weight's gradient */
    CONV_GRAD_ROWS = 192,
};

/* Convolutions whose channels come last (conv_rows.c). */
enum {
    CONV_ROWS_POSITIONS = 224,  /* [nets] results of a strip, */
    CONV_ROWS_PIXELS = 1 << 16, /* [nets] if its input has no more elements than this */
    /* [nets] this many times as many where sets of groups are copied: neighbours copy some
     * of the same rows */
    CONV_ROWS_SETS = 4,
    /* [coldstart] weights that a convolution's first call makes at a time: they stay in the second
     * cache */
    CONV_TURN_WEIGHTS = 1 << 18,
    /* [coldstart] bytes of them that the next convolution may take again */
    CONV_TURN_KEPT = 4 << 20,
    CONV_ROWS_TILES = 4, /* [nets] tiles of positions at least, even so */
    /* [exact] in one sum: a panel of weights that stays in the second cache; sums of
     * more are added up */
    CONV_ROWS_STEPS = 256,
    CONV_ROWS_WEIGHTS = 1 << 17, /* [nets] that stay in the second cache beside pixels */
    CONV_ROWS_SHARES = 16,       /* [nets] parts of the panels to think of */
    CONV_ROWS_FEWEST = 20, /* [nets] positions of a strip that is made smaller for another thread */
    /* [nets] between rows; beyond, a strip is one row of
     * results: the pixels between its taps are not copied */
    CONV_ROWS_DILATION = 3,
    /* [nets] bytes; strides that are multiples of it map to one
     * set of the L1 cache, which has room for this many lines */
    CONV_ROWS_FAR = 4096,
    CONV_ROWS_FAR_ROWS = 10,
    /* [nets] between columns: then enough results share the same taps that pixels need not
     * be copied with the padding around them; kernels of no more than these taps in a row */
    CONV_ROWS_APART = 7,
    CONV_ROWS_APART_TAPS = 8,
    CONV_ROWS_APART_STEPS = 512, /* [nets] in one sum then */
};

/* [nets] in the time of a tile's step through one tap: to copy its pixels, */
#define CONV_ROWS_COPY 0.2
/* [nets] in that of a whole tile: to begin with another strip; */
#define CONV_ROWS_ITEM 0.1
#define CONV_ROWS_EVEN 1.06 /* [nets] work that is shared as evenly as this is shared well */

/* Winograd's way (conv_winograd.c). */
enum {
    /* [nets] bytes of transformed input and products, in a core's second cache */
    CONV_WINOGRAD_SCRATCH = 768 << 10,
    CONV_WINOGRAD_MOST = 6 << 20, /* [nets] and at most, where that reads weights less often */
    /* [nets] output channels whose products are in memory at a time */
    CONV_WINOGRAD_CHANNELS = 64,
    /* [exact] input channels in one sum; sums of more are added up */
    CONV_WINOGRAD_SUM = 96,
    CONV_WINOGRAD_DEPTH = 64, /* slices of a volume at most: all of a tile's are in memory */
    /* [nets] vector instructions to transform a vector of a tile, loads and stores counted, */
    CONV_WINOGRAD_INPUT_4 = 220,
    CONV_WINOGRAD_INPUT_2 = 70,
    /* [nets] and on the way back */
    CONV_WINOGRAD_OUTPUT_4 = 150,
    CONV_WINOGRAD_OUTPUT_2 = 50,
};
/* [nets] instructions in the time that one byte of weights takes from memory */
#define CONV_WINOGRAD_BYTE 0.3
/* [nets] that time times the number of threads: they share memory's bandwidth */
#define CONV_WINOGRAD_CROWD 0.75
/* [nets] the part of the time of bytes beyond the second cache that products do not hide */
#define CONV_WINOGRAD_SPILL 0.5
/* [nets] the part of the direct form's time that is worth its memory */
#define CONV_WINOGRAD_GAIN 0.85

/* [nets] bytes that the operators of a chain read and make, of the images that are done together
 * (image_slices.c) */
enum { IMAGE_SLICE_BYTES = 4 << 20 };

/* A form that is tried (conv_tune.c): calls, and bytes of what passes the caches between them. */
enum { CONV_TUNE_CALLS = 4, CONV_TUNE_OTHERS = 64 << 20 };

/* Reductions and scans (reduce*.c, scan.c, order_statistics.c). */
enum {
    REDUCE_CHUNK = 1 << 16, /* [reductions] values of one result folded in one go */
    REDUCE_TILE = 64,       /* [reductions] results side by side */
    REDUCE_BUFFER = 4096,   /* [reductions] elements in the transposing buffer */
    REDUCE_GRAIN = 1 << 15, /* [reductions] values worth a thread */
    REDUCE_LEAST_RUN = 16,  /* [reductions] shorter runs are copied together first */
    /* [reductions] neighbouring results that share cache lines of the input */
    REDUCE_LINE = 16,
    SCAN_LANES = 64,       /* [reductions] lines side by side */
    SCAN_GRAIN = 1 << 15,  /* [reductions] values worth a thread */
    STATS_GRAIN = 1 << 12, /* [reductions] values worth a thread */
};

/* Moving elements (move.c, join.c, index/). */
enum {
    MOVE_GRAIN = 1 << 17, /* [conversion] bytes worth a thread */
    JOIN_GRAIN = 1 << 17, /* [cat] the same */
    /* [cat] bytes of a part's row, on average, from which on rows are copied in runs */
    JOIN_SMALL = 64,
    INDEX_GRAIN = 1 << 15,  /* [indexing] elements worth a thread */
    MASKED_CHUNK = 1 << 14, /* [masked] elements that are counted, then moved, by one thread */
    SEARCH_GRAIN = 1 << 12, /* [searchsorted] values searched for that are worth a thread */
    SORT_GRAIN = 1 << 14,   /* [sort] elements worth a thread */
    SORT_INSERTION = 48,    /* [sort] elements up to which lines are sorted by insertion */
    SELECT_SMALL = 16,      /* [topk] shorter ranges are left to insertion sort */
};

/* Elements, softmax, pooling (pointwise.c, softmax.c, pool/). */
enum {
    /* [pointwise] elements that are widened, computed and rounded at a time */
    PW_HALF_BLOCK = 512,
    PW_PACK_BYTES = 2048, /* [pointwise] of strided inputs, first copied together, */
    PW_PACK_LEAST = 16,   /* [pointwise] if rows are not shorter than this */
    /* [pointwise] elements up to which a call without broadcasting is made by one thread at once */
    PW_PLAIN_MAX = 32768,
    /* [softmax] neighbouring columns taken together, so that memory is read in order */
    SOFTMAX_COLUMNS = 64,
    SOFTMAX_LANES = 16,  /* [softmax] maxima side by side */
    POOL_ROW = 2048,     /* [pool] rows longer than this are pooled in one step */
    ADAPTIVE_ROW = 1024, /* [pool] the same, of adaptive pools */
    /* [exact] pixels in one sum, channels last; sums of more are added up in double */
    POOL_LAST_PIXELS = 64,
    POOL_LAST_PART = 1 << 15, /* [exact] elements of an image in one sum, where it is all summed */
    POOL_LAST_BLOCK = 256,    /* [pool] channels of a chunk */
    POOL_LAST_ROWS = 16,      /* [pool] rows of outputs that are chunks enough */
};

#endif
