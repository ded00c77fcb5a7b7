/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_index.c - operators that index, scatter, select, sort and search. The expected texts are
 * PyTorch 1.13.1's.
 */
#include "opcase.h"

#include "base/threads/thread_pool.h"

static const opcase indexing[] = {
    {"aten::index.Tensor", "f32[3]{1 2 3} (i64[2]{2 -3})", "f32[2]{3 1}"},
    {"aten::index.Tensor", "f32[2,3]^{1 2 3 4 5 6} (None i64[2]{2 0})", "f32[2,2]{3 1 6 4}"},
    {"aten::index.Tensor", "f32[2,3]^{1 2 3 4 5 6} (i64[2,1]{0 1} i64[2]{2 0})",
     "f32[2,2]{3 1 6 4}"},
    {"aten::index.Tensor", "i64[2,2,3]{0 1 2 3 4 5 6 7 8 9 10 11} (i64[2]{0 1} None i64[2]{2 0})",
     "i64[2,2]{2 5 6 9}"},
    {"aten::index.Tensor", "i64[2,2,3]{0 1 2 3 4 5 6 7 8 9 10 11} (None i64[2]{1 1} i64[2]{2 0})",
     "i64[2,2]{5 3 11 9}"},
    {"aten::index.Tensor", "i64[2,2,3]{0 1 2 3 4 5 6 7 8 9 10 11} (b[2,2]{1 0 0 1})",
     "i64[2,3]{0 1 2 9 10 11}"},
    {"aten::index.Tensor", "i64[2,2,3]{0 1 2 3 4 5 6 7 8 9 10 11} (None b[2]{0 1} i64[1]{1})",
     "i64[2,1]{4 10}"},
    {"aten::index.Tensor", "f32[3]{1 2 3} (u8[3]{1 0 1})", "f32[2]{1 3}"},
    {"aten::index.Tensor", "f32[3]{1 2 3} (i64[]{1})", "f32[]{2}"},
    {"aten::index.Tensor", "c64[2]{1:2 3:4} (i64[1]{1})", "c64[1]{3:4}"},
    {"aten::index.Tensor", "f16[2,2]{1 2 3 4} (i64[1]{1})", "f16[1,2]{3 4}"},
    {"aten::index.Tensor", "f32[0,3]{} (i64[0]{})", "f32[0,3]{}"},
    {"aten::index.Tensor", "f32[0,3]{} (i64[1]{0})",
     "!index is out of bounds for dimension with size 0"},
    {"aten::index.Tensor", "f32[3]{1 2 3} (i64[1]{5})",
     "!index 5 is out of bounds for dimension 0 with size 3"},
    {"aten::index.Tensor", "f32[3]{1 2 3} (i64[1]{-4})",
     "!index -4 is out of bounds for dimension 0 with size 3"},
    {"aten::index.Tensor", "f32[3]{1 2 3} (i32[2]{-1 0})", "f32[2]{3 1}"},
    {"aten::index_put", "f32[3]{1 2 3} (i32[2]{0 -1}) f32[2]{8 9}", "f32[3]{8 2 9}"},
    {"aten::index.Tensor", "f32[3]{1 2 3} (i16[1]{0})",
     "!tensors used as indices must be long, int, byte or bool tensors"},
    {"aten::index.Tensor", "f32[3]{1 2 3} (i64[1]{0} i64[1]{0})",
     "!too many indices for tensor of dimension 1 (got 2)"},
    {"aten::index.Tensor", "f32[2,3]{1 2 3 4 5 6} (i64[2]{0 1} i64[3]{0 1 2})",
     "!shape mismatch: indexing tensors could not be broadcast together with shapes [2], "
     "[3]"},
    {"aten::index.Tensor", "f32[2,3]{1 2 3 4 5 6} (b[3]{1 0 1})",
     "!The shape of the mask [3] at index 0 does not match the shape of the indexed "
     "tensor [2, 3] at index 0"},
    {"aten::index_put", "f32[3]{1 2 3} (i64[2]{0 -1}) f32[2]{8 9}", "f32[3]{8 2 9}"},
    {"aten::index_put", "f32[3]{1 2 3} (i64[3]{0 0 0}) f32[3]{1 2 4} true", "f32[3]{8 2 3}"},
    {"aten::index_put", "f32[2,3]^{1 2 3 4 5 6} (None i64[2]{0 2}) f32[2,1]{8 9}",
     "f32[2,3]{8 2 8 9 5 9}"},
    {"aten::index_put",
     "i64[2,2,3]{0 1 2 3 4 5 6 7 8 9 10 11} (i64[2]{0 1} None i64[2]{2 0}) i64[2,2]{-1 "
     "-2 -3 -4}",
     "i64[2,2,3]{0 1 -1 3 4 -2 -3 7 8 -4 10 11}"},
    {"aten::index_put_", "f32[2,3]^{1 2 3 4 5 6} (b[2,3]{1 0 0 0 0 1}) f32[]{0}",
     "f32[2,3]{0 2 3 4 5 0}"},
    {"aten::index_put_", "i32[2]{1 2} (b[2]{0 1}) f32[]{2.5}", "i32[2]{1 2}"},
    {"aten::index_put_", "i32[2]{1 2} (b[2]{0 1}) f32[]{3e10}",
     "!value cannot be converted to type int without overflow"},
    {"aten::index_put", "b[2]{0 1} (i64[1]{0}) b[]{1} true", "b[2]{1 1}"},
    {"aten::index_put", "bf16[2]{1 2} (i64[2]{0 0}) bf16[2]{1 1} true", "bf16[2]{3 2}"},
    {"aten::index_put", "f32[3]{1 2 3} (i64[3]{0 1 2}) f32[2]{1 2}",
     "!shape mismatch: value tensor of shape [2] cannot be broadcast to indexing result "
     "of shape [3]"},
    {"aten::index_put", "f32[3]{1 2 3} (i64[3]{0 1 2}) f64[3]{1 2 3}",
     "!Index put requires the source and destination dtypes match, got Float for the "
     "destination and Double for the source."},
    {"aten::index_put", "f32[3]{1 2 3} (i64[1]{3}) f32[]{1}",
     "!index 3 is out of bounds for dimension 0 with size 3"},
    {"aten::_index_put_impl_", "f32[3]{1 2 3} (i64[1]{1}) f32[]{9}", "f32[3]{1 9 3}"},
};

static const opcase along_dims[] = {
    {"aten::index_select", "f32[2,3]^{1 2 3 4 5 6} 1 i64[2]{2 0}", "f32[2,2]{3 1 6 4}"},
    {"aten::index_select", "f32[2,3]^{1 2 3 4 5 6} 0 i32[1]{1}", "f32[1,3]{4 5 6}"},
    {"aten::index_select", "f32[]{5} 0 i64[1]{0}", "f32[]{5}"},
    {"aten::index_select", "f32[2,3]{1 2 3 4 5 6} 0 i64[1]{5}", "!index out of range in self"},
    {"aten::index_select", "f32[2,3]{1 2 3 4 5 6} 1 i64[1]{5}",
     "!INDICES element is out of DATA bounds, id=5 axis_dim=3"},
    {"aten::index_select", "f32[3]{1 2 3} 0 f32[1]{0}",
     "!index_select(): Expected dtype int32 or int64 for index"},
    {"aten::index_select", "f32[3]{1 2 3} 0 i64[1,1]{0}",
     "!index_select(): Index is supposed to be a vector"},
    {"aten::index_add", "f32[2,3]{1 2 3 4 5 6} 1 i64[2]{0 0} f32[2,2]{1 2 3 4}",
     "f32[2,3]{4 2 3 11 5 6}"},
    {"aten::index_add_", "f32[2,3]^{1 2 3 4 5 6} 0 i64[1]{1} f32[1,3]{1 1 1} 2",
     "f32[2,3]{1 2 3 6 7 8}"},
    {"aten::index_add", "i32[3]{1 2 3} 0 i64[1]{0} i32[1]{2} 1.5", "i32[3]{3 2 3}"},
    {"aten::index_add", "f32[3]{1 2 3} 0 i64[3]{0 1 2} f32[2]{1 2}",
     "!index_add_(): Number of indices (3) should be equal to source.size(dim): (2), for "
     "dim: 0"},
    {"aten::index_add", "f32[3]{1 2 3} 0 i64[1]{7} f32[1]{1}", "!index out of range in self"},
    {"aten::index_add", "f32[3]{1 2 3} 0 i64[1]{0} f64[1]{1}",
     "!index_add_(): self (Float) and source (Double) must have the same scalar type"},
    {"aten::index_copy", "f32[2,3]{1 2 3 4 5 6} 1 i64[1]{2} f32[2,1]{8 9}",
     "f32[2,3]{1 2 8 4 5 9}"},
    {"aten::index_copy_", "f32[3]{1 2 3} 0 i64[]{1} f32[]{9}", "f32[3]{1 9 3}"},
    {"aten::index_copy", "f32[3]{1 2 3} 0 i64[1]{-1} f32[1]{1}",
     "!index_copy_(): index -1 is out of bounds for dimension 0 with size 3"},
    {"aten::index_copy", "f32[2,3]{1 2 3 4 5 6} 0 i64[1]{0} f32[1,2]{1 2}",
     "!index_copy_(): Source/destination tensor must have same slice shapes. Destination "
     "slice shape: 3 at dimension 0 and source slice shape: 2 at dimension 0."},
    {"aten::index_fill.int_Scalar", "f32[2,3]{1 2 3 4 5 6} 1 i64[2]{0 -1} 9",
     "f32[2,3]{9 2 9 9 5 9}"},
    {"aten::index_fill_.int_Tensor", "f32[2,3]^{1 2 3 4 5 6} 0 i64[]{1} f32[]{9}",
     "f32[2,3]{1 2 3 9 9 9}"},
    {"aten::index_fill.int_Scalar", "f32[3]{1 2 3} 0 i64[1]{5} 1",
     "!index 5 is out of bounds for dimension 0 with size 3"},
    {"aten::index_fill.int_Scalar", "f32[3]{1 2 3} 0 i32[1]{0} 1",
     "!index_fill_(): Expected dtype int64 for index."},
    {"aten::index_reduce", "f32[3]{1 2 3} 0 i64[2]{0 0} f32[2]{5 6} 'mean'", "f32[3]{4 2 3}"},
    {"aten::index_reduce", "f32[3]{1 2 3} 0 i64[2]{0 0} f32[2]{5 6} 'amax' false", "f32[3]{6 2 3}"},
    {"aten::index_reduce", "f32[3]{1 2 3} 0 i64[1]{0} f32[1]{5} 'sum'",
     "!index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got sum."},
    {"aten::gather", "f32[2,3]^{1 2 3 4 5 6} 1 i64[2,2]{2 0 1 1}", "f32[2,2]{3 1 5 5}"},
    {"aten::gather", "f32[2,3]{1 2 3 4 5 6} 0 i64[1,2]{1 0}", "f32[1,2]{4 2}"},
    {"aten::gather", "f32[]{5} 0 i64[2]{0 0}", "f32[2]{5 5}"},
    {"aten::gather", "f32[3]{1 2 3} 0 i64[1]{3}",
     "!index 3 is out of bounds for dimension 0 with size 3"},
    {"aten::gather", "f32[3]{1 2 3} 0 i64[1]{-1}",
     "!index -1 is out of bounds for dimension 0 with size 3"},
    {"aten::gather", "f32[3]{1 2 3} 0 i32[1]{0}", "f32[1]{1}"},
    {"aten::gather", "f32[3]{1 2 3} 0 i16[1]{0}",
     "!gather(): Expected dtype int32/int64 for index"},
    {"aten::scatter.value", "f32[3]{1 2 3} 0 i32[2]{0 2} 5", "f32[3]{5 2 5}"},
    {"aten::scatter_reduce.two", "c64[3]{1:1 2:0 3:0} 0 i64[2]{0 0} c64[2]{0:1 2:0} 'sum' false",
     "c64[3]{2:1 2:0 3:0}"},
    {"aten::gather", "f32[2,3]{1 2 3 4 5 6} 0 i64[1]{0}",
     "!Index tensor must have the same number of dimensions as input tensor"},
    {"aten::gather", "f32[2,3]{1 2 3 4 5 6} 0 i64[1,4]{0 0 0 0}",
     "!Size does not match at dimension 1 expected index [1, 4] to be smaller than self "
     "[2, 3] apart from dimension 0"},
    {"aten::take_along_dim", "f32[2,3]{1 2 3 4 5 6} i64[2,1]{2 0} 1", "f32[2,1]{3 4}"},
    {"aten::take_along_dim", "f32[2,3]{1 2 3 4 5 6} i64[2]{5 0}", "f32[2]{6 1}"},
    {"aten::take_along_dim", "f32[2,3]{1 2 3 4 5 6} i64[1]{0} 1",
     "!torch.take_along_dim(): input and indices should have the same number of "
     "dimensions, but got 2 dimensions for input, and 1 dimensions for indices"},
    {"aten::scatter.src", "f32[3]{0 0 0} 0 i64[2]{2 0} f32[3]{1 2 3}", "f32[3]{2 0 1}"},
    {"aten::scatter_.src", "f32[2,3]^{1 2 3 4 5 6} 1 i64[2,1]{2 0} f32[2,1]{8 9}",
     "f32[2,3]{1 2 8 9 5 6}"},
    {"aten::scatter.value", "f32[2,3]{1 2 3 4 5 6} 0 i64[1,3]{1 0 1} 9", "f32[2,3]{1 9 3 9 5 9}"},
    {"aten::scatter.value", "b[2]{0 0} 0 i64[1]{1} 2", "b[2]{0 1}"},
    {"aten::scatter.reduce", "f32[3]{1 2 3} 0 i64[2]{0 0} f32[2]{5 6} 'multiply'",
     "f32[3]{30 2 3}"},
    {"aten::scatter.value_reduce", "i64[2]{1 2} 0 i64[2]{1 1} 3 'add'", "i64[2]{1 8}"},
    {"aten::scatter.value_reduce", "i64[2]{1 2} 0 i64[2]{1 1} 3 'max'",
     "!reduce argument must be either add or multiply."},
    {"aten::scatter_add", "f32[3]{0 0 0} 0 i64[4]{0 0 2 0} f32[4]{1 2 3 4}", "f32[3]{7 0 3}"},
    {"aten::scatter_add_", "f16[2]{1 2} 0 i64[2]{0 0} f16[2]{1 2}", "f16[2]{4 2}"},
    {"aten::scatter_add", "c64[1]{1:1} 0 i64[2]{0 0} c64[2]{1:2 3:4}", "c64[1]{5:7}"},
    {"aten::scatter.src", "f32[3]{1 2 3} 0 i64[1]{5} f32[3]{1 2 3}",
     "!index 5 is out of bounds for dimension 0 with size 3"},
    {"aten::scatter.src", "f32[3]{1 2 3} 0 i64[3]{0 1 2} f32[2]{1 2}",
     "!Expected index [3] to be smaller than self [3] apart from dimension 0 and to be "
     "smaller size than src [2]"},
    {"aten::scatter.src", "f32[3]{1 2 3} 0 i64[1]{0} f64[1]{1}",
     "!scatter(): Expected self.dtype to be equal to src.dtype"},
    {"aten::scatter.src", "f32[2,3]{1 2 3 4 5 6} 0 i64[1]{0} f32[2,3]{1 2 3 4 5 6}",
     "!Index tensor must have the same number of dimensions as self tensor"},
    {"aten::scatter_reduce.two", "f32[3]{1 2 3} 0 i64[3]{0 0 1} f32[3]{4 5 6} 'sum'",
     "f32[3]{10 8 3}"},
    {"aten::scatter_reduce.two", "f32[3]{1 2 3} 0 i64[3]{0 0 1} f32[3]{4 5 6} 'prod'",
     "f32[3]{20 12 3}"},
    {"aten::scatter_reduce.two", "f32[3]{1 2 3} 0 i64[3]{0 0 1} f32[3]{4 5 6} 'mean'",
     "f32[3]{3.33333 4 3}"},
    {"aten::scatter_reduce.two", "f32[3]{1 2 3} 0 i64[3]{0 0 1} f32[3]{4 nan 6} 'amax' false",
     "f32[3]{nan 6 3}"},
    {"aten::scatter_reduce_.two", "i64[3]{1 2 3} 0 i64[3]{0 0 1} i64[3]{-4 -6 7} 'amin'",
     "i64[3]{-6 2 3}"},
    {"aten::scatter_reduce.two", "i64[3]{1 2 3} 0 i64[3]{0 0 1} i64[3]{-4 -6 7} 'mean' false",
     "i64[3]{-5 7 3}"},
    {"aten::scatter_reduce.two", "f32[3]{1 2 3} 0 i64[1]{0} f32[3]{1 2 3} 'max'",
     "!reduce argument must be either sum, prod, mean, amax or amin."},
};

static const opcase by_truth[] = {
    {"aten::nonzero", "i64[2,2]{0 1 2 0}", "i64[2,2]{0 1 1 0}"},
    {"aten::nonzero", "i64[]{7}", "i64[1,0]{}"},
    {"aten::nonzero", "f32[2]^{nan 0}", "i64[1,1]{0}"},
    {"aten::nonzero_numpy", "i64[2,2]{0 1 2 0}", "(i64[2]{0 1} i64[2]{1 0})"},
    {"aten::nonzero_numpy", "i64[]{7}", "(i64[1]{0})"},
    {"aten::where", "b[2,2]{1 0 0 1}", "(i64[2]{0 1} i64[2]{0 1})"},
    {"aten::argwhere", "b[2]{0 1}", "i64[1,1]{1}"},
    {"aten::masked_select", "f32[2,3]^{1 2 3 4 5 6} b[2,3]{0 1 0 1 0 1}", "f32[3]{2 4 6}"},
    {"aten::masked_select", "f32[2,3]{1 2 3 4 5 6} b[3]{0 1 1}", "f32[4]{2 3 5 6}"},
    {"aten::masked_select", "c64[2]{1:2 3:4} b[2]{0 1}", "c64[1]{3:4}"},
    {"aten::masked_select", "f32[3]{1 2 3} b[2]{0 1}",
     "!The size of tensor a (2) must match the size of tensor b (3) at non-singleton "
     "dimension 0"},
    {"aten::masked_select", "f32[3]{1 2 3} i64[3]{0 1 1}",
     "!masked_select: expected BoolTensor or ByteTensor for mask"},
    {"aten::masked_scatter", "f32[2,3]{1 2 3 4 5 6} b[3]{0 1 1} f32[4]{6 7 8 9}",
     "f32[2,3]{1 6 7 4 8 9}"},
    {"aten::masked_scatter_", "f32[3]{1 2 3} b[3]{0 1 1} f32[1]{1}",
     "!Number of elements of source < number of ones in mask"},
    {"aten::masked_scatter", "f32[3]{1 2 3} b[3]{0 1 1} f64[2]{1 2}",
     "!masked_scatter: expected self and source to have same dtypes but gotFloat and "
     "Double"},
    {"aten::take", "f32[2,3]^{1 2 3 4 5 6} i64[2]{-1 1}", "f32[2]{6 2}"},
    {"aten::take", "f32[3]{1 2 3} i64[1]{3}",
     "!out of range: tried to access index 3 on a tensor of 3 elements."},
    {"aten::take", "f32[0]{} i64[1]{0}", "!take(): tried to take from an empty tensor"},
    {"aten::put", "f32[2,3]^{1 2 3 4 5 6} i64[2]{-1 1} f32[2]{8 9}", "f32[2,3]{1 9 3 4 5 8}"},
    {"aten::put_", "f32[3]{1 2 3} i64[2]{0 0} f32[2]{8 9} true", "f32[3]{18 2 3}"},
    {"aten::put_", "f32[3]{1 2 3} i64[1]{4} f32[1]{8}",
     "!out of range: tried to access index 4 on a tensor of 3 elements."},
    {"aten::put", "f32[3]{1 2 3} i64[1]{0} f32[2]{8 9}",
     "!put_(): Expected source and index to have the same number of elements, but got "
     "source.numel() = 2, index.numel() = 1"},
};

static const opcase ordering[] = {
    {"aten::sort", "f32[5]{3 nan 1 -0 0}", "f32[5]{-0 0 1 3 nan} i64[5]{3 4 2 0 1}"},
    {"aten::sort", "f32[4]{3 nan 1 2} 0 true", "f32[4]{nan 3 2 1} i64[4]{1 0 3 2}"},
    {"aten::sort", "i64[2,3]^{3 1 2 6 5 5} 0", "i64[2,3]{3 1 2 6 5 5} i64[2,3]{0 0 0 1 1 1}"},
    {"aten::sort", "b[3]{1 0 1}", "b[3]{0 1 1} i64[3]{1 0 2}"},
    {"aten::sort", "f16[3]{2 -1 inf}", "f16[3]{-1 2 inf} i64[3]{1 0 2}"},
    {"aten::sort", "u8[3]{200 3 100} -1 true", "u8[3]{200 100 3} i64[3]{0 2 1}"},
    {"aten::sort.stable", "i64[20]{1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0} true",
     "i64[20]{0 0 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 1 1} i64[20]{1 3 5 7 9 11 13 15 17 19 "
     "0 2 4 6 8 10 12 14 16 18}"},
    {"aten::sort", "i64[20]{1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0}",
     "i64[20]{0 0 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 1 1} i64[20]{1 19 17 15 13 11 9 7 5 3 "
     "8 6 10 12 4 14 16 2 18 0}"},
    {"aten::sort", "i64[]{7}", "i64[]{7} i64[]{0}"},
    {"aten::sort", "f32[3]{1 2 3} 1",
     "!Dimension out of range (expected to be in range of [-1, 0], but got 1)"},
    {"aten::argsort", "i32[4]{3 1 2 1}", "i64[4]{1 3 2 0}"},
    {"aten::argsort.stable", "i32[4]{3 1 2 1} true 0 true", "i64[4]{0 2 1 3}"},
    {"aten::msort", "f32[2,3]^{1 2 3 4 5 6}", "f32[2,3]{1 2 3 4 5 6}"},
    {"aten::topk", "f32[5]{1 5 nan 3 5} 3", "f32[3]{nan 5 5} i64[3]{2 4 1}"},
    {"aten::topk", "f32[5]{1 5 nan 3 5} 2 -1 false", "f32[2]{1 3} i64[2]{0 3}"},
    {"aten::topk", "i64[20]{1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0} 6",
     "i64[6]{1 1 1 1 1 1} i64[6]{10 16 8 6 14 12}"},
    {"aten::topk", "f32[2,3]^{1 2 3 4 5 6} 1 0", "f32[1,3]{4 5 6} i64[1,3]{1 1 1}"},
    {"aten::topk", "f32[3]{1 2 3} 4", "!selected index k out of range"},
    {"aten::kthvalue", "f32[5]{5 1 4 2 nan} 4", "f32[]{5} i64[]{0}"},
    {"aten::kthvalue", "f32[2,3]^{1 2 3 4 5 6} 1 0 true", "f32[1,3]{1 2 3} i64[1,3]{0 0 0}"},
    {"aten::kthvalue", "i64[8]{2 1 2 1 2 1 2 1} 3", "i64[]{1} i64[]{7}"},
    {"aten::kthvalue", "f32[3]{1 2 3} 4",
     "!kthvalue(): selected number k out of range for dimension 0"},
    {"aten::kthvalue", "f32[0]{} 1",
     "!kthvalue(): Expected reduction dim 0 to have non-zero size."},
    {"aten::_unique2", "i64[2,2]{3 1 2 1} true true true",
     "i64[3]{1 2 3} i64[2,2]{2 0 1 0} i64[3]{2 1 1}"},
    {"aten::_unique2", "i64[2]{3 1}", "i64[2]{1 3} i64[0]{} i64[0]{}"},
    {"aten::_unique2", "b[3]{1 0 1} true true true", "b[2]{0 1} i64[3]{1 0 1} i64[2]{1 2}"},
    {"aten::_unique", "f32[3]{1 2 3} true true", "f32[3]{1 2 3} i64[3]{0 1 2}"},
    {"aten::unique_consecutive", "i64[5]{1 1 2 1 1} true true",
     "i64[3]{1 2 1} i64[5]{0 0 1 2 2} i64[3]{2 1 2}"},
    {"aten::unique_consecutive", "i64[2,2]{1 1 1 1} true true 0",
     "i64[1,2]{1 1} i64[2]{0 0} i64[1]{2}"},
    {"aten::unique_dim", "i64[3,2]{3 1 2 1 3 1} 0 true true true",
     "i64[2,2]{2 1 3 1} i64[3]{1 0 1} i64[2]{1 2}"},
    {"aten::unique_dim", "i64[2,3]^{3 1 3 2 1 2} 1 true true true",
     "i64[2,2]{1 3 1 2} i64[3]{1 0 1} i64[2]{1 2}"},
    {"aten::unique_dim", "f32[0,3]{} 1",
     "!There are 0 sized dimensions, and they aren't selected, so unique cannot be "
     "applied"},
};

static const opcase lookups[] = {
    {"aten::searchsorted.Tensor", "f32[3]{1 2 3} f32[4]{0 1 2.5 nan}", "i64[4]{0 0 2 3}"},
    {"aten::searchsorted.Tensor", "f32[3]{1 2 3} f32[2]{1 3} false true", "i64[2]{1 3}"},
    {"aten::searchsorted.Tensor", "f32[2,2]{1 3 2 4} f32[2,1]{3 3}", "i64[2,1]{1 1}"},
    {"aten::searchsorted.Tensor", "f32[3]{1 2 3} i64[2]{1 2} true", "i32[2]{0 1}"},
    {"aten::searchsorted.Scalar", "f32[3]{1 2 3} 2.5", "i64[]{2}"},
    {"aten::searchsorted.Tensor", "f32[3]{3 1 2} f32[1]{2.5} false false 'right' i64[3]{1 2 0}",
     "i64[1]{2}"},
    {"aten::searchsorted.Tensor", "f32[3]{1 2 3} f32[3]{1 2 3} false true 'left'",
     "!torch.searchsorted(): side and right can't be set to opposites, got side of left "
     "while right was True"},
    {"aten::searchsorted.Tensor", "f32[3]{1 2 3} f32[3]{1 2 3} false false 'top'",
     "!torch.searchsorted(): side can only be 'left' or 'right' but got top"},
    {"aten::searchsorted.Tensor", "f32[2,3]{1 2 3 4 5 6} f32[3]{1 2 3}",
     "!torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
     "dimensions of boundaries tensor and input value tensor must match, but we got "
     "boundaries tensor [2, 3] and input value tensor [3]"},
    {"aten::searchsorted.Scalar", "f32[2,3]{1 2 3 4 5 6} 1",
     "!torch.searchsorted(): input value can be a scalar only when boundaries tensor "
     "dimension is 1, but we got boundaries tensor dim(2) and input value's dim(0) "
     "numel(1)"},
    {"aten::bucketize.Tensor", "i64[2]{0 5} f32[3]{1 2 3}", "i64[2]{0 3}"},
    {"aten::bucketize.Scalar", "2 i64[3]{1 2 3} false true", "i64[]{2}"},
    {"aten::bucketize.Tensor", "f32[3]{1 2 3} f32[2,3]{1 2 3 4 5 6}",
     "!boundaries tensor must be 1 dimension, but got dim(2)"},
    {"aten::isin.Tensor_Tensor", "f32[2,3]{1 2 3 4 5 6} i64[2]{2 6}", "b[2,3]{0 1 0 0 0 1}"},
    {"aten::isin.Tensor_Tensor", "f32[1]{nan} f32[1]{nan} false true", "b[1]{1}"},
    {"aten::isin.Tensor_Scalar", "i64[2]{1 2} 1", "b[2]{1 0}"},
    {"aten::isin.Scalar_Tensor", "1 i64[2]{1 2}", "b[]{1}"},
    {"aten::isin.Tensor_Tensor", "b[1]{1} b[1]{1}",
     "!Unsupported input type encountered for isin(): Bool"},
    {"aten::bincount", "i64[4]{1 1 0 3}", "i64[4]{1 2 0 1}"},
    {"aten::bincount", "i64[2]{1 1} f32[2]{0.5 0.25} 3", "f32[3]{0 0.75 0}"},
    {"aten::bincount", "i64[2]{1 1} i64[2]{2 3}", "f64[2]{0 5}"},
    {"aten::bincount", "i64[1]{-1}", "!bincount only supports 1-d non-negative integral inputs."},
    {"aten::bincount", "i64[0]{} None 2", "i64[2]{0 0}"},
    {"aten::bincount", "i64[1]{1} f32[2]{1 2}",
     "!weights should be 1-d and have the same length as input"},
    {"aten::histc", "f32[4]{0 1 2 3} 3", "f32[3]{1 1 2}"},
    {"aten::histc", "f32[4]{0 1 2 3} 2 1 2", "f32[2]{1 1}"},
    {"aten::histc", "f32[3]{1 2 3} 0",
     "!torch.histogram(): bins must be > 0, but got 0 for dimension 0"},
    {"aten::histc", "f32[3]{1 2 3} 3 2 1", "!torch.histc: max must be larger than min"},
    {"aten::histc", "i64[1]{1}", "!\"histogram_cpu\" not implemented for 'Long'"},
    {"aten::histogram.bin_ct", "f32[4]{0 1 2 3} 3", "f32[3]{1 1 2} f32[4]{0 1 2 3}"},
    {"aten::histogram.bin_ct", "f32[4]{0 1 2 3} 3 None f32[4]{0 1 2 3} true",
     "f32[3]{0 0.166667 0.833333} f32[4]{0 1 2 3}"},
    {"aten::histogram.bin_ct", "f32[3]{1 2 3} 0",
     "!torch.histogram(): bins must be > 0, but got 0 for dimension 0"},
    {"aten::histogram.bins_tensor", "f32[4]{0 1 2 3} f32[3]{0 1 4}", "f32[2]{1 3} f32[3]{0 1 4}"},
    {"aten::histogram.bins_tensor", "f32[3]{1 2 3} f64[3]{0 1 4}",
     "!torch.histogramdd: input tensor and bins tensors should have the same dtype, but "
     "got input with dtype float and bins for dimension 0 with dtype double"},
};

#define INDEX_TEST(table)                                                                          \
    static void test_##table(void **state) {                                                       \
        (void)state;                                                                               \
        opcase_run(table, sizeof table / sizeof *table);                                           \
    }
INDEX_TEST(indexing)
INDEX_TEST(along_dims)
INDEX_TEST(by_truth)
INDEX_TEST(ordering)
INDEX_TEST(lookups)

/* An index tensor of n numbers below `most`, in no order. */
static tensor *index_numbers(dtype dt, int64_t n, int64_t most) {
    tensor *t;
    uint64_t x = 1;
    assert_int_equal(tensor_new(NULL, dt, 1, &n, &t), CTSC_OK);
    for (int64_t i = 0; i < n; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        dtype_store_int(dt, (char *)tensor_data(t) + (size_t)i * dtype_size(dt),
                        (int64_t)((x >> 33) % (uint64_t)most));
    }
    return t;
}

/* One operator on much data with one thread and with four. */
static void index_same_with_threads(const char *op, int nargs, const value *args, int nresults) {
    value results[2][2] = {{value_none(), value_none()}, {value_none(), value_none()}};
    op_ctx cx = {0};
    for (int threads = 0; threads < 2; threads++) {
        pool_set_threads(threads ? 4 : 1);
        assert_int_equal(op_call(&cx, op, nargs, args, results[threads]), CTSC_OK);
    }
    pool_set_threads(0);
    for (int i = 0; i < nresults; i++) {
        const tensor *a = results[0][i].u.tensor, *b = results[1][i].u.tensor;
        assert_true(tensor_same_shape(a, b));
        assert_memory_equal(tensor_data(a), tensor_data(b),
                            (size_t)a->numel * dtype_size((dtype)a->dtype));
        value_unref(results[0][i]);
        value_unref(results[1][i]);
    }
}

static void test_threads(void **state) {
    (void)state;
    enum { N = 200000 };
    const int64_t rows[] = {N / 100, 100};
    tensor *numbers = index_numbers(DT_INT32, N, 1000), *table;
    tensor *at = index_numbers(DT_INT64, 5000, N / 100);
    assert_int_equal(tensor_view(NULL, numbers, 2, rows, &table), CTSC_OK);
    value n = value_tensor_take(numbers), t = value_tensor_take(table), i = value_tensor_take(at);
    list *l = list_new(LIST_TENSOR, TYPE_TENSOR, 0);
    list_append_take(l, value_ref(i));
    value indices = value_list_take(l);
    index_same_with_threads("aten::index.Tensor", 2, (value[]){t, indices}, 1);
    index_same_with_threads("aten::index_select", 3, (value[]){t, value_int(0), i}, 1);
    index_same_with_threads("aten::sort", 2, (value[]){t, value_int(1)}, 2);
    index_same_with_threads("aten::sort", 2, (value[]){n, value_int(0)}, 2);
    index_same_with_threads("aten::topk", 3, (value[]){t, value_int(7), value_int(1)}, 2);
    index_same_with_threads("aten::nonzero", 1, (value[]){t}, 1);
    index_same_with_threads("aten::isin.Tensor_Tensor", 2, (value[]){t, i}, 1);
    value_unref(indices);
    value_unref(n);
    value_unref(t);
    value_unref(i);
}

/* A radix sort against what sorting means: in order, a permutation, equal elements by position. */
static void test_long_sort(void **state) {
    (void)state;
    enum { N = 5000 };
    tensor *t = index_numbers(DT_INT16, N, 300);
    op_ctx cx = {0};
    value results[2] = {value_none(), value_none()};
    const value args[] = {value_tensor_take(t), value_bool(true), value_int(0), value_bool(true)};
    assert_int_equal(op_call(&cx, "aten::sort.stable", 4, args, results), CTSC_OK);
    const int16_t *v = TENSOR_AT(results[0].u.tensor, int16_t);
    const int64_t *k = TENSOR_AT(results[1].u.tensor, int64_t);
    for (int i = 0; i < N; i++) {
        assert_int_equal(v[i], TENSOR_AT(t, int16_t)[k[i]]);
        if (i) assert_true(v[i - 1] > v[i] || (v[i - 1] == v[i] && k[i - 1] < k[i]));
    }
    value_unref(results[0]);
    value_unref(results[1]);
    tensor_unref(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_indexing),  cmocka_unit_test(test_along_dims),
        cmocka_unit_test(test_by_truth),  cmocka_unit_test(test_ordering),
        cmocka_unit_test(test_lookups),   cmocka_unit_test(test_threads),
        cmocka_unit_test(test_long_sort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
