/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_shape.c - operators on a tensor's shape: views, splits, joins and rearrangements. The
 * expected texts are PyTorch 1.13.1's.
 */
#include "opcase.h"

#include "base/threads/thread_pool.h"

static const opcase views[] = {
    {"aten::size", "f32[2,3]{1 2 3 4 5 6}", "[2 3]"},
    {"aten::size.int", "f32[2,3]{1 2 3 4 5 6} -1", "3"},
    {"aten::size.int", "f32[2,3]{1 2 3 4 5 6} 2",
     "!Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
    {"aten::size.int", "i64[]{7} 0", "!Dimension specified as 0 but tensor has no dimensions"},
    {"aten::stride", "f32[2,3]^{1 2 3 4 5 6}", "[1 2]"},
    {"aten::storage_offset", "f32[2,3]{1 2 3 4 5 6}", "0"},
    {"aten::is_contiguous", "f32[2,3]^{1 2 3 4 5 6}", "false"},
    {"aten::is_contiguous", "i64[0,3]^{}", "true"},
    {"aten::is_same_size", "f32[2,3]{1 2 3 4 5 6} f32[3]{1 2 3}", "false"},
    {"aten::_shape_as_tensor", "f32[2,3]{1 2 3 4 5 6}", "i64[2]{2 3}"},
    {"aten::_infer_size", "[2 1] [3]", "[2 3]"},
    {"aten::view", "f32[2,3]{1 2 3 4 5 6} [3 -1]", "f32[3,2]{1 2 3 4 5 6}"},
    {"aten::view", "f32[2,3]^{1 2 3 4 5 6} [6]",
     "!view size is not compatible with input tensor's size and stride (at least one "
     "dimension spans across two contiguous subspaces). Use .reshape(...) instead."},
    {"aten::view", "f32[2,3]{1 2 3 4 5 6} [4]", "!shape '[4]' is invalid for input of size 6"},
    {"aten::view", "f32[2,3]{1 2 3 4 5 6} [-1 -1]", "!only one dimension can be inferred"},
    {"aten::view", "f32[2,3]{1 2 3 4 5 6} [-1 4]",
     "!shape '[-1, 4]' is invalid for input of size 6"},
    {"aten::view", "f32[0]{} [-1 0]",
     "!cannot reshape tensor of 0 elements into shape [-1, 0] because the unspecified "
     "dimension size -1 can be any value and is ambiguous"},
    {"aten::view_as", "f32[2,3]{1 2 3 4 5 6} f32[6]{0 0 0 0 0 0}", "f32[6]{1 2 3 4 5 6}"},
    {"aten::view.dtype", "f32[2]{1 2} 3", "i32[2]{1065353216 1073741824}"},
    {"aten::view.dtype", "u8[4]{0 0 128 63} 6", "f32[1]{1}"},
    {"aten::view.dtype", "u8[3]{0 0 128} 6",
     "!self.size(-1) must be divisible by 4 to view Byte as Float (different element "
     "sizes), but got 3"},
    {"aten::view.dtype", "f32[2,3]^{1 2 3 4 5 6} 0",
     "!self.stride(-1) must be 1 to view Float as Byte (different element sizes), but "
     "got 2"},
    {"aten::view.dtype", "f32[]{1} 0",
     "!self.dim() cannot be 0 to view Float as Byte (different element sizes)"},
    {"aten::reshape", "f32[2,3]^{1 2 3 4 5 6} [6]", "f32[6]{1 2 3 4 5 6}"},
    {"aten::reshape", "f32[2,3]^{1 2 3 4 5 6} [-1 2]", "f32[3,2]{1 2 3 4 5 6}"},
    {"aten::reshape_as", "f32[2,3]^{1 2 3 4 5 6} f32[3,2]{0 0 0 0 0 0}", "f32[3,2]{1 2 3 4 5 6}"},
    {"aten::flatten.using_ints", "f32[2,1,3]{1 2 3 4 5 6} 1 -1", "f32[2,3]{1 2 3 4 5 6}"},
    {"aten::flatten.using_ints", "i64[]{7}", "i64[1]{7}"},
    {"aten::flatten.using_ints", "f32[2,3]{1 2 3 4 5 6} 1 0",
     "!flatten() has invalid args: start_dim cannot come after end_dim"},
    {"aten::unflatten.int", "i64[6]{0 1 2 3 4 5} 0 [2 -1]", "i64[2,3]{0 1 2 3 4 5}"},
    {"aten::unflatten.int", "i64[6]{0 1 2 3 4 5} -1 [4 2]",
     "!unflatten: Provided sizes [4, 2] don't multiply up to the size of dim 0 (6) in "
     "the input tensor"},
    {"aten::unflatten.int", "i64[6]{0 1 2 3 4 5} 0 []", "!unflatten: sizes must be non-empty"},
    {"aten::ravel", "f32[2,3]^{1 2 3 4 5 6}", "f32[6]{1 2 3 4 5 6}"},
    {"aten::squeeze", "f32[1,2,1]{1 2}", "f32[2]{1 2}"},
    {"aten::squeeze.dim", "f32[1,2,1]{1 2} -1", "f32[1,2]{1 2}"},
    {"aten::squeeze.dim", "f32[1,2,1]{1 2} 3",
     "!Dimension out of range (expected to be in range of [-3, 2], but got 3)"},
    {"aten::squeeze_", "f32[1,2,1]{1 2}", "f32[2]{1 2}"},
    {"aten::squeeze_.dim", "f32[1,2,1]{1 2} 0", "f32[2,1]{1 2}"},
    {"aten::unsqueeze", "f32[3]{1 2 3} -1", "f32[3,1]{1 2 3}"},
    {"aten::unsqueeze", "f32[3]{1 2 3} 2",
     "!Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
    {"aten::unsqueeze_", "f32[3]{1 2 3} 0", "f32[1,3]{1 2 3}"},
    {"aten::transpose.int", "f32[2,3]{1 2 3 4 5 6} 0 -1", "f32[3,2]{1 4 2 5 3 6}"},
    {"aten::transpose_", "f32[2,3]{1 2 3 4 5 6} 0 1", "f32[3,2]{1 4 2 5 3 6}"},
    {"aten::swapaxes", "f32[2,3]{1 2 3 4 5 6} 0 2",
     "!Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
    {"aten::t", "f32[2,3]{1 2 3 4 5 6}", "f32[3,2]{1 4 2 5 3 6}"},
    {"aten::t_", "f32[2,3]{1 2 3 4 5 6}", "f32[3,2]{1 4 2 5 3 6}"},
    {"aten::t", "f32[3]{1 2 3}", "f32[3]{1 2 3}"},
    {"aten::t", "f32[1,1,1]{1}", "!t() expects a tensor with <= 2 dimensions, but self is 3D"},
    {"aten::mT", "f32[2,3]{1 2 3 4 5 6}", "f32[3,2]{1 4 2 5 3 6}"},
    {"aten::mT", "f32[3]{1 2 3}",
     "!tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor."},
    {"aten::adjoint", "f32[3]{1 2 3}",
     "!tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D "
     "tensor."},
    {"aten::mH", "f32[2,3]{1 2 3 4 5 6}", "f32[3,2]{1 4 2 5 3 6}"},
    {"aten::matrix_H", "f32[1,1,1]{1}",
     "!tensor.H is only supported on matrices (2-D tensors). Got 3-D tensor. For batches "
     "of matrices, consider using tensor.mH"},
    {"aten::numpy_T", "f32[1,2,3]{1 2 3 4 5 6}", "f32[3,2,1]{1 4 2 5 3 6}"},
    {"aten::permute", "f32[1,2,3]{1 2 3 4 5 6} [2 0 -2]", "f32[3,1,2]{1 4 2 5 3 6}"},
    {"aten::permute", "f32[2,3]{1 2 3 4 5 6} [0]",
     "!permute(sparse_coo): number of dimensions in the tensor input does not match the "
     "length of the desired ordering of dimensions i.e. input.dim() = 2 is not equal to "
     "len(dims) = 1"},
    {"aten::permute", "f32[2,3]{1 2 3 4 5 6} [0 0]", "!permute(): duplicate dims are not allowed."},
    {"aten::movedim.int", "f32[1,2,3]{1 2 3 4 5 6} 0 -1", "f32[2,3,1]{1 2 3 4 5 6}"},
    {"aten::movedim.intlist", "f32[1,2,3]{1 2 3 4 5 6} [0 1] [2 0]", "f32[2,3,1]{1 2 3 4 5 6}"},
    {"aten::movedim.intlist", "f32[2,3]{1 2 3 4 5 6} [0 0] [0 1]",
     "!movedim: repeated dim in `source` ([0, 0])"},
    {"aten::movedim.intlist", "f32[2,3]{1 2 3 4 5 6} [0] [0 1]",
     "!movedim: Invalid source or destination dims: source ([0] dims) should contain the "
     "same number of dims as destination ([0, 1] dims)"},
    {"aten::expand", "f32[2,1]{1 2} [2 -1 3]", "f32[2,2,3]{1 1 1 2 2 2 1 1 1 2 2 2}"},
    {"aten::expand", "f32[2,1]{1 2} [3 2 2]", "f32[3,2,2]{1 1 2 2 1 1 2 2 1 1 2 2}"},
    {"aten::expand", "f32[2,3]{1 2 3 4 5 6} [2 4]",
     "!The expanded size of the tensor (4) must match the existing size (3) at "
     "non-singleton dimension 1.  Target sizes: [2, 4].  Tensor sizes: [2, 3]"},
    {"aten::expand", "f32[3]{1 2 3} [-1 3]",
     "!The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
     "dimension 0"},
    {"aten::expand_as", "f32[1]{5} f32[3]{1 2 3}", "f32[3]{5 5 5}"},
    {"aten::broadcast_to", "f32[2,1]{1 2} [2 2]", "f32[2,2]{1 1 2 2}"},
    {"aten::broadcast_tensors", "(f32[2,1]{1 2} f32[3]{1 2 3})",
     "(f32[2,3]{1 1 1 2 2 2} f32[2,3]{1 2 3 1 2 3})"},
    {"aten::broadcast_tensors", "(f32[2,3]{1 2 3 4 5 6} f32[2]{1 2})",
     "!The size of tensor a (3) must match the size of tensor b (2) at non-singleton "
     "dimension 1"},
    {"aten::select.int", "f32[2,3]{1 2 3 4 5 6} 1 -1", "f32[2]{3 6}"},
    {"aten::select.int", "f32[2,3]{1 2 3 4 5 6} 0 2",
     "!select(): index 2 out of range for tensor of size [2, 3] at dimension 0"},
    {"aten::select.int", "i64[]{7} 0 0", "!select() cannot be applied to a 0-dim tensor."},
    {"aten::slice.Tensor", "f32[2,3]{1 2 3 4 5 6} 1 None None 2", "f32[2,2]{1 3 4 6}"},
    {"aten::slice.Tensor", "f32[2,3]{1 2 3 4 5 6} 1 -2 None", "f32[2,2]{2 3 5 6}"},
    {"aten::slice.Tensor", "f32[2,3]{1 2 3 4 5 6} 0 1 100", "f32[1,3]{4 5 6}"},
    {"aten::slice.Tensor", "f32[2,3]{1 2 3 4 5 6} 0 2 1", "f32[0,3]{}"},
    {"aten::slice.Tensor", "f32[2,3]{1 2 3 4 5 6} 0 0 1 0", "!slice step must be positive"},
    {"aten::slice.Tensor", "i64[]{7}", "!slice() cannot be applied to a 0-dim tensor."},
    {"aten::narrow", "f32[2,3]{1 2 3 4 5 6} 1 -2 2", "f32[2,2]{2 3 5 6}"},
    {"aten::narrow", "f32[2,3]{1 2 3 4 5 6} 1 2 2",
     "!start (2) + length (2) exceeds dimension size (3)."},
    {"aten::narrow", "i64[]{7} 0 0 1", "!narrow() cannot be applied to a 0-dim tensor."},
    {"aten::narrow.Tensor", "f32[2,3]{1 2 3 4 5 6} 1 i64[]{1} 1", "f32[2,1]{2 5}"},
    {"aten::narrow_copy", "f32[2,3]{1 2 3 4 5 6} 1 1 2", "f32[2,2]{2 3 5 6}"},
    {"aten::as_strided", "f32[2,3]{1 2 3 4 5 6} [2 2] [1 2] 1", "f32[2,2]{2 4 3 5}"},
    {"aten::as_strided", "f32[2,3]{1 2 3 4 5 6} [2] [1 1]",
     "!mismatch in length of strides and shape"},
    {"aten::as_strided", "f32[3]{1 2 3} [2] [-1]",
     "!as_strided: Negative strides are not supported at the moment, got strides: [-1]"},
    {"aten::as_strided_", "f32[2,3]{1 2 3 4 5 6} [3] [2]", "f32[3]{1 3 5}"},
    {"aten::diagonal", "f32[2,3]{1 2 3 4 5 6}", "f32[2]{1 5}"},
    {"aten::diagonal", "f32[2,3]{1 2 3 4 5 6} 1", "f32[2]{2 6}"},
    {"aten::diagonal", "f32[2,3]{1 2 3 4 5 6} -5", "f32[0]{}"},
    {"aten::diagonal", "f32[2,3]{1 2 3 4 5 6} 0 0 0",
     "!diagonal dimensions cannot be identical 0, 0"},
    {"aten::unfold", "f32[3]{1 2 3} 0 2 1", "f32[2,2]{1 2 2 3}"},
    {"aten::unfold", "f32[3]{1 2 3} 0 4 1",
     "!maximum size for tensor at dimension 0 is 3 but size is 4"},
    {"aten::unfold", "f32[3]{1 2 3} 0 2 0", "!step is 0 but must be > 0"},
    {"aten::unfold", "i64[]{7} 0 1 1", "i64[1]{7}"},
    {"aten::view_as_real", "c64[2]{1:2 3:4}", "f32[2,2]{1 2 3 4}"},
    {"aten::view_as_complex", "f32[2,3]{1 2 3 4 5 6}",
     "!Tensor must have a last dimension of size 2"},
    {"aten::view_as_complex", "f32[2,2]{1 2 3 4}", "c64[2]{1:2 3:4}"},
    {"aten::view_copy", "f32[2,3]^{1 2 3 4 5 6} [6]", "f32[6]{1 2 3 4 5 6}"},
    {"aten::permute_copy", "f32[2,3]{1 2 3 4 5 6} [1 0]", "f32[3,2]{1 4 2 5 3 6}"},
    {"aten::select_scatter", "f32[2,3]{1 2 3 4 5 6} f32[2]{8 9} 1 0", "f32[2,3]{8 2 3 9 5 6}"},
    {"aten::select_scatter", "f32[2,3]{1 2 3 4 5 6} f32[3]{8 9 7} 1 0",
     "!expected src to have a size equal to the slice of self. src size = [3], slice "
     "size = [2]"},
    {"aten::slice_scatter", "f32[2,3]{1 2 3 4 5 6} f32[2,1]{8 9} 1 1 2", "f32[2,3]{1 8 3 4 9 6}"},
    {"aten::diagonal_scatter", "f32[2,3]{1 2 3 4 5 6} f32[2]{8 9}", "f32[2,3]{8 2 3 4 9 6}"},
    {"aten::resize_", "f32[2,3]{1 2 3 4 5 6} [2 2]", "f32[2,2]{1 2 3 4}"},
    {"aten::resize_as_", "f32[2,3]{1 2 3 4 5 6} f32[3]{1 2 3}", "f32[3]{1 2 3}"},
    {"aten::set_.source_Tensor", "f32[2,3]{1 2 3 4 5 6} f32[3]{1 2 3}", "f32[3]{1 2 3}"},
    {"aten::set_", "f32[2,3]{1 2 3 4 5 6}", "f32[0]{}"},
};

static const opcase splits[] = {
    {"aten::split.Tensor", "i64[5]{0 1 2 3 4} 2", "(i64[2]{0 1} i64[2]{2 3} i64[1]{4})"},
    {"aten::split.Tensor", "i64[0]{} 0", "(i64[0]{})"},
    {"aten::split.Tensor", "f32[3]{1 2 3} 0",
     "!split_size can only be 0 if dimension size is 0, but got dimension size of 3"},
    {"aten::split.Tensor", "f32[3]{1 2 3} -1",
     "!split expects split_size be non-negative, but got split_size=-1"},
    {"aten::split.Tensor", "i64[]{7} 1", "!split expects at least a 1-dimensional tensor"},
    {"aten::split_with_sizes", "f32[2,3]^{1 2 3 4 5 6} [1 2] 1",
     "(f32[2,1]{1 4} f32[2,2]{2 3 5 6})"},
    {"aten::split_with_sizes", "f32[3]{1 2 3} [1 1]",
     "!split_with_sizes expects split_sizes to sum exactly to 3 (input tensor's size at "
     "dimension 0), but got split_sizes=[1, 1]"},
    {"aten::split_with_sizes", "f32[3]{1 2 3} [-1 4]",
     "!split_with_sizes expects split_sizes have only non-negative entries, but got "
     "split_sizes=[-1, 4]"},
    {"aten::split", "f32[3]{1 2 3} [2 1]", "(f32[2]{1 2} f32[1]{3})"},
    {"aten::split_copy.Tensor", "f32[3]{1 2 3} 2", "(f32[2]{1 2} f32[1]{3})"},
    {"aten::chunk", "i64[5]{0 1 2 3 4} 3", "(i64[2]{0 1} i64[2]{2 3} i64[1]{4})"},
    {"aten::chunk", "i64[0]{} 2", "(i64[0]{} i64[0]{})"},
    {"aten::chunk", "f32[3]{1 2 3} 0", "!chunk expects `chunks` to be greater than 0, got: 0"},
    {"aten::tensor_split.sections", "i64[5]{0 1 2 3 4} 3", "(i64[2]{0 1} i64[2]{2 3} i64[1]{4})"},
    {"aten::tensor_split.sections", "f32[3]{1 2 3} 0",
     "!number of sections must be larger than 0, got 0"},
    {"aten::tensor_split.indices", "i64[5]{0 1 2 3 4} [1 -1 9]",
     "(i64[1]{0} i64[3]{1 2 3} i64[1]{4} i64[0]{})"},
    {"aten::tensor_split.tensor_indices_or_sections", "i64[5]{0 1 2 3 4} i64[2]{2 1}",
     "(i64[2]{0 1} i64[0]{} i64[4]{1 2 3 4})"},
    {"aten::hsplit.int", "f32[3]{1 2 3} 3", "(f32[1]{1} f32[1]{2} f32[1]{3})"},
    {"aten::hsplit.int", "f32[3]{1 2 3} 2",
     "!torch.hsplit attempted to split along dimension 0, but the size of the dimension "
     "3 is not divisible by the split_size 2!"},
    {"aten::vsplit.array", "f32[2,3]{1 2 3 4 5 6} [1]", "(f32[1,3]{1 2 3} f32[1,3]{4 5 6})"},
    {"aten::vsplit.int", "f32[3]{1 2 3} 1",
     "!torch.vsplit requires a tensor with at least 2 dimension, but got a tensor with 1 "
     "dimensions!"},
    {"aten::dsplit.int", "f32[1,1,4]{1 2 3 4} 2", "(f32[1,1,2]{1 2} f32[1,1,2]{3 4})"},
    {"aten::unbind.int", "f32[2,3]^{1 2 3 4 5 6} 1", "(f32[2]{1 4} f32[2]{2 5} f32[2]{3 6})"},
    {"aten::unbind.int", "i64[]{7}", "!Dimension specified as 0 but tensor has no dimensions"},
    {"aten::unbind_copy.int", "f32[2,3]{1 2 3 4 5 6}", "(f32[3]{1 2 3} f32[3]{4 5 6})"},
};

static const opcase joins[] = {
    {"aten::cat", "(f32[2,3]{1 2 3 4 5 6} f32[2,3]^{1 2 3 4 5 6})",
     "f32[4,3]{1 2 3 4 5 6 1 2 3 4 5 6}"},
    {"aten::cat", "(f32[2,3]{1 2 3 4 5 6} f32[2,3]^{1 2 3 4 5 6}) -1",
     "f32[2,6]{1 2 3 1 2 3 4 5 6 4 5 6}"},
    {"aten::cat", "(i32[1]{5} f16[2]{1 2} b[1]{1})", "f16[4]{5 1 2 1}"},
    {"aten::cat", "(f32[0]{} f32[2,3]{1 2 3 4 5 6}) 1", "f32[2,3]{1 2 3 4 5 6}"},
    {"aten::cat", "(f32[0]{} f64[0]{}) 1", "f64[0]{}"},
    {"aten::cat", "(c64[1]{1:2} c64[1]{3:4})", "c64[2]{1:2 3:4}"},
    {"aten::cat", "(f32[2,3]{1 2 3 4 5 6} f32[2,4]{1 1 1 1 1 1 1 1})",
     "!Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 "
     "for tensor number 1 in the list."},
    {"aten::cat", "(f32[2,3]{1 2 3 4 5 6} f32[3]{1 2 3})",
     "!Tensors must have same number of dimensions: got 2 and 1"},
    {"aten::cat", "(f32[3]{1 2 3} f32[]{1})",
     "!zero-dimensional tensor (at position 1) cannot be concatenated"},
    {"aten::cat", "(f32[2,3]{1 2 3 4 5 6} f32[2,3]{1 2 3 4 5 6}) 2",
     "!Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
    {"aten::cat", "()", "!torch.cat(): expected a non-empty list of Tensors"},
    {"aten::stack", "(i64[2]{1 2} i64[2]{3 4})", "i64[2,2]{1 2 3 4}"},
    {"aten::stack", "(i64[2]{1 2} i64[2]{3 4}) -1", "i64[2,2]{1 3 2 4}"},
    {"aten::stack", "(i64[]{1} f32[]{2})", "f32[2]{1 2}"},
    {"aten::stack", "(f32[3]{1 2 3} f32[4]{1 2 3 4})",
     "!stack expects each tensor to be equal size, but got [3] at entry 0 and [4] at "
     "entry 1"},
    {"aten::stack", "(f32[3]{1 2 3}) 2",
     "!Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
    {"aten::stack", "()", "!stack expects a non-empty TensorList"},
    {"aten::hstack", "(f32[2,3]{1 2 3 4 5 6} f32[2,3]^{1 2 3 4 5 6})",
     "f32[2,6]{1 2 3 1 2 3 4 5 6 4 5 6}"},
    {"aten::hstack", "(f32[]{1} f32[3]{1 2 3})", "f32[4]{1 1 2 3}"},
    {"aten::vstack", "(f32[3]{1 2 3} f32[2,3]{1 2 3 4 5 6})", "f32[3,3]{1 2 3 1 2 3 4 5 6}"},
    {"aten::dstack", "(f32[3]{1 2 3} f32[3]{1 2 3})", "f32[1,3,2]{1 1 2 2 3 3}"},
    {"aten::column_stack", "(f32[3]{1 2 3} f32[3]{1 2 3})", "f32[3,2]{1 1 2 2 3 3}"},
    {"aten::hstack", "()", "!hstack expects a non-empty TensorList"},
    {"aten::block_diag", "(f32[1,2]{1 2} i64[2,1]{3 4} f32[]{5})",
     "f32[4,4]{1 2 0 0 0 0 3 0 0 0 4 0 0 0 0 5}"},
    {"aten::block_diag", "(f32[1,1,1]{1})",
     "!torch.block_diag: Input tensors must have 2 or fewer dimensions. Input 0 has 3 "
     "dimensions"},
    {"aten::meshgrid.indexing", "(i64[2]{1 2} i64[3]{3 4 5}) 'xy'",
     "(i64[3,2]{1 2 1 2 1 2} i64[3,2]{3 3 4 4 5 5})"},
    {"aten::meshgrid", "(i64[2]{1 2} i64[]{3})", "(i64[2,1]{1 2} i64[2,1]{3 3})"},
    {"aten::meshgrid.indexing", "(f32[3]{1 2 3}) 'zz'",
     "!torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: zz"},
    {"aten::meshgrid", "(f32[3]{1 2 3} i64[1]{1})",
     "!meshgrid expects all tensors to have the same dtype"},
    {"aten::cartesian_prod", "(i64[2]{1 2} i64[2]{3 4})", "i64[4,2]{1 3 1 4 2 3 2 4}"},
    {"aten::cartesian_prod", "(f32[2,3]{1 2 3 4 5 6})",
     "!Expect a 1D vector, but got shape [2, 3]"},
    {"aten::combinations", "i64[3]{1 2 3}", "i64[3,2]{1 2 1 3 2 3}"},
    {"aten::combinations", "i64[3]{1 2 3} 2 true", "i64[6,2]{1 1 1 2 1 3 2 2 2 3 3 3}"},
    {"aten::combinations", "f32[3]{1 2 3} 4", "f32[0,4]{}"},
    {"aten::combinations", "f32[3]{1 2 3} -1", "!Expect a non-negative number, but got -1"},
    {"aten::atleast_1d", "i64[]{7}", "i64[1]{7}"},
    {"aten::atleast_2d", "f32[3]{1 2 3}", "f32[1,3]{1 2 3}"},
    {"aten::atleast_3d", "f32[2,3]{1 2 3 4 5 6}", "f32[2,3,1]{1 2 3 4 5 6}"},
    {"aten::atleast_2d.Sequence", "(f32[3]{1 2 3} i64[]{7})", "(f32[1,3]{1 2 3} i64[1,1]{7})"},
};

static const opcase rearrangements[] = {
    {"aten::flip", "f32[2,3]^{1 2 3 4 5 6} [1]", "f32[2,3]{3 2 1 6 5 4}"},
    {"aten::flip", "f32[2,3]{1 2 3 4 5 6} [0 -1]", "f32[2,3]{6 5 4 3 2 1}"},
    {"aten::flip", "f32[2,3]{1 2 3 4 5 6} [0 0]",
     "!dim 0 appears multiple times in the list of dims"},
    {"aten::fliplr", "f32[2,3]{1 2 3 4 5 6}", "f32[2,3]{3 2 1 6 5 4}"},
    {"aten::fliplr", "f32[3]{1 2 3}", "!Input must be >= 2-d."},
    {"aten::flipud", "i64[]{7}", "!Input must be >= 1-d."},
    {"aten::rot90", "f32[2,3]{1 2 3 4 5 6}", "f32[3,2]{3 6 2 5 1 4}"},
    {"aten::rot90", "f32[2,3]{1 2 3 4 5 6} 2", "f32[2,3]{6 5 4 3 2 1}"},
    {"aten::rot90", "f32[2,3]{1 2 3 4 5 6} -1 [1 0]", "f32[3,2]{3 6 2 5 1 4}"},
    {"aten::rot90", "f32[3]{1 2 3}", "!expected total dims >= 2, but got total dims = 1"},
    {"aten::rot90", "f32[2,3]{1 2 3 4 5 6} 1 [0 0]",
     "!expected rotation dims to be different, but got dim0 = 0 and dim1 = 0"},
    {"aten::roll", "f32[2,3]{1 2 3 4 5 6} [1]", "f32[2,3]{6 1 2 3 4 5}"},
    {"aten::roll", "f32[2,3]^{1 2 3 4 5 6} [1 -1] [0 1]", "f32[2,3]{5 6 4 2 3 1}"},
    {"aten::roll", "f32[2,3]{1 2 3 4 5 6} [1 2]",
     "!shifts and dimensions must align. shifts: 2, dims:0"},
    {"aten::roll", "f32[2,3]{1 2 3 4 5 6} []", "!`shifts` required"},
    {"aten::repeat", "f32[2,3]^{1 2 3 4 5 6} [2 1 2]",
     "f32[2,2,6]{1 2 3 1 2 3 4 5 6 4 5 6 1 2 3 1 2 3 4 5 6 4 5 6}"},
    {"aten::repeat", "f32[2,3]{1 2 3 4 5 6} [2]",
     "!Number of dimensions of repeat dims can not be smaller than number of dimensions "
     "of tensor"},
    {"aten::repeat", "f32[2,3]{1 2 3 4 5 6} [0 1]", "f32[0,3]{}"},
    {"aten::tile", "f32[3]{1 2 3} [2 2]", "f32[2,6]{1 2 3 1 2 3 1 2 3 1 2 3}"},
    {"aten::tile", "f32[2,3]{1 2 3 4 5 6} [2]", "f32[2,6]{1 2 3 1 2 3 4 5 6 4 5 6}"},
    {"aten::repeat_interleave.Tensor", "i64[3]{1 0 2}", "i64[3]{0 2 2}"},
    {"aten::repeat_interleave.Tensor", "i64[1]{-1}", "!repeats can not be negative"},
    {"aten::repeat_interleave.self_int", "f32[2,3]^{1 2 3 4 5 6} 2",
     "f32[12]{1 1 2 2 3 3 4 4 5 5 6 6}"},
    {"aten::repeat_interleave.self_int", "f32[2,3]{1 2 3 4 5 6} 2 1",
     "f32[2,6]{1 1 2 2 3 3 4 4 5 5 6 6}"},
    {"aten::repeat_interleave.self_Tensor", "f32[2,3]{1 2 3 4 5 6} i64[2]{0 2} 0",
     "f32[2,3]{4 5 6 4 5 6}"},
    {"aten::repeat_interleave.self_Tensor", "f32[2,3]{1 2 3 4 5 6} i64[3]{0 2 1} 0",
     "!repeats must have the same size as input along dim"},
    {"aten::diag", "i64[2]{1 2} 1", "i64[3,3]{0 1 0 0 0 2 0 0 0}"},
    {"aten::diag", "f32[2,3]{1 2 3 4 5 6} 1", "f32[2]{2 6}"},
    {"aten::diag", "f32[1,1,1]{1}", "!matrix or a vector expected"},
    {"aten::diagflat", "i64[2,1]{1 2}", "i64[2,2]{1 0 0 2}"},
    {"aten::diag_embed", "i64[2]{1 2} -1", "i64[3,3]{0 0 0 1 0 0 0 2 0}"},
    {"aten::diag_embed", "i64[2]{1 2} 0 0 0", "!diagonal dimensions cannot be identical 0, 0"},
    {"aten::trace", "f32[2,3]^{1 2 3 4 5 6}", "f32[]{6}"},
    {"aten::trace", "i32[2,2]{1 2 3 4}", "i64[]{5}"},
    {"aten::trace", "f32[3]{1 2 3}", "!trace: expected a matrix, but got tensor with dim 1"},
};

#define SHAPE_TEST(table)                                                                          \
    static void test_##table(void **state) {                                                       \
        (void)state;                                                                               \
        opcase_run(table, sizeof table / sizeof *table);                                           \
    }
SHAPE_TEST(views)
SHAPE_TEST(splits)
SHAPE_TEST(joins)
SHAPE_TEST(rearrangements)

/* In-place views change the handle, not the elements; plain views share the storage. */
static void test_sharing(void **state) {
    (void)state;
    const char *text = "f32[2,3]{1 2 3 4 5 6}";
    tensor *t = opcase_tensor(&text);
    storage *s = t->storage;
    diag d = {0};
    op_ctx cx = {.diag = &d};
    value args[] = {value_tensor_take(t)}, view = value_none(), same = value_none();
    assert_int_equal(op_call(&cx, "aten::t", 1, args, &view), CTSC_OK);
    assert_ptr_equal(view.u.tensor->storage, s);
    assert_int_equal(view.u.tensor->strides[1], 3);
    assert_int_equal(op_call(&cx, "aten::t_", 1, args, &same), CTSC_OK);
    assert_ptr_equal(same.u.tensor, t);
    assert_ptr_equal(t->storage, s);
    assert_int_equal(t->sizes[0], 3);
    value_unref(view);
    value_unref(same);
    tensor_unref(t);
    diag_clear(&d);
}

/* Large enough to be cut up: the same result from one thread and from four. */
static void test_threads(void **state) {
    (void)state;
    const int64_t sizes[] = {300, 7, 200};
    tensor *t;
    assert_int_equal(tensor_new(NULL, DT_INT32, 3, sizes, &t), CTSC_OK);
    for (int64_t i = 0; i < t->numel; i++) TENSOR_AT(t, int32_t)[i] = (int32_t)i;
    list *l = list_new(LIST_TENSOR, TYPE_TENSOR, 0);
    for (int i = 0; i < 3; i++) list_append_take(l, value_tensor_take(tensor_ref(t)));
    value both = value_list_take(l), flips = value_list_take(list_new(LIST_INT, TYPE_INT, 0));
    for (int i = 0; i < 3; i += 2) list_append_take(flips.u.list, value_int(i));
    const value cat[] = {both, value_int(1)}, flip[] = {value_tensor_take(t), flips};
    for (int op = 0; op < 2; op++) {
        value results[2] = {value_none(), value_none()};
        op_ctx cx = {0};
        for (int threads = 0; threads < 2; threads++) {
            pool_set_threads(threads ? 4 : 1);
            assert_int_equal(op_call(&cx, op ? "aten::flip" : "aten::cat", 2, op ? flip : cat,
                                     &results[threads]),
                             CTSC_OK);
        }
        const int32_t *a = TENSOR_AT(results[0].u.tensor, int32_t);
        size_t n = (size_t)results[0].u.tensor->numel;
        assert_memory_equal(a, tensor_data(results[1].u.tensor), n * sizeof *a);
        if (op) assert_int_equal(a[0], 299 * 1400 + 199);
        else assert_int_equal(a[7 * 200], 0), assert_int_equal(a[n - 1], 300 * 1400 - 1);
        value_unref(results[0]);
        value_unref(results[1]);
    }
    pool_set_threads(0);
    value_unref(both);
    value_unref(flips);
    tensor_unref(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_views),   cmocka_unit_test(test_splits),
        cmocka_unit_test(test_joins),   cmocka_unit_test(test_rearrangements),
        cmocka_unit_test(test_sharing), cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
