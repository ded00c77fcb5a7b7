# SPDX-License-Identifier: Apache-2.0
"""_meanings.py - what each operator computes, in a line, and for some an example: the first part of their docstrings (_operator_docs.py)."""

_TEXT = r"""
abs: Absolute values; of complex numbers their magnitudes.
    >>> ctsc.abs(ctsc.tensor([-1., 2.]))
    tensor([1., 2.])
acos: Arc cosine of each element.
acosh: Inverse hyperbolic cosine of each element.
adaptive_avg_pool1d: Means over windows chosen so that the result has the given length.
adaptive_avg_pool2d: Means over windows chosen so that the result has the given height and width.
    >>> ctsc.nn.functional.adaptive_avg_pool2d(ctsc.ones(1, 3, 8, 8), 2).shape
    ctsc.Size([1, 3, 2, 2])
adaptive_avg_pool3d: Means over windows chosen so that the result has the given depth, height and width.
adaptive_max_pool1d: Maxima over windows chosen so that the result has the given length, and where they are.
adaptive_max_pool2d: Maxima over windows chosen so that the result has the given height and width, and where they are.
adaptive_max_pool3d: Maxima over windows chosen so that the result has the given depth, height and width, and where they are.
add: input + alpha * other, element by element, broadcast.
    >>> ctsc.add(ctsc.tensor([1., 2.]), 10, alpha=2)
    tensor([21., 22.])
addbmm: beta * input + alpha * the sum of the products of two batches of matrices.
addcdiv: input + value * tensor1 / tensor2.
addcmul: input + value * tensor1 * tensor2.
addmm: beta * input + alpha * (mat1 @ mat2).
    >>> ctsc.addmm(ctsc.ones(2, 2), ctsc.eye(2), ctsc.eye(2))
    tensor([[2., 1.],
            [1., 2.]])
addmv: beta * input + alpha * (mat @ vec).
addr: beta * input + alpha * the outer product of two vectors.
adjoint: The conjugate of each matrix of the last two dimensions, transposed: a view.
affine_grid_generator: The grid that an affine map gives for grid_sampler.
alias: A view of the whole tensor.
align_as: The dimensions of a named tensor in the order of those of other.
align_tensors: Named tensors with their dimensions in one order.
align_to: The dimensions of a named tensor in the order of the names.
all: Whether all elements, or all along dimensions, are true.
    >>> ctsc.all(ctsc.tensor([True, False]))
    tensor(False)
allclose: Whether all elements satisfy |input - other| <= atol + rtol * |other|.
    >>> ctsc.allclose(ctsc.ones(2), ctsc.ones(2) + 1e-9)
    True
alpha_dropout: Dropout that keeps mean and variance of what selu gives.
amax: Largest elements along dimensions; equal ones share the gradient.
    >>> ctsc.amax(ctsc.tensor([[1., 5.], [7., 2.]]), 1)
    tensor([5., 7.])
amin: Smallest elements along dimensions; equal ones share the gradient.
aminmax: Smallest and largest elements, of all or along a dimension.
angle: The argument of each complex number, in radians.
any: Whether any element, or any along dimensions, is true.
arange: The numbers from start up to end, without end, by steps.
    >>> ctsc.arange(0, 6, 2)
    tensor([0, 2, 4])
argmax: Where the largest element is: an index into the flattened tensor, or along dim.
    >>> ctsc.argmax(ctsc.tensor([1., 9., 3.]))
    tensor(1)
argmin: Where the smallest element is: an index into the flattened tensor, or along dim.
argsort: The indices that sort a tensor along a dimension.
    >>> ctsc.argsort(ctsc.tensor([3., 1., 2.]))
    tensor([1, 2, 0])
argwhere: The indices of all elements that are not zero, one row each.
    >>> ctsc.argwhere(ctsc.tensor([0, 1, 1]))
    tensor([[1],
            [2]])
as_strided: A view of the tensor's memory with the given sizes, strides and offset.
as_strided_scatter: A copy of input with src in place of the elements of as_strided.
asin: Arc sine of each element.
asinh: Inverse hyperbolic sine of each element.
atan: Arc tangent of each element.
atan2: Arc tangent of input / other, in the quadrant of the two.
atanh: Inverse hyperbolic tangent of each element.
atleast_1d: Tensors of at least one dimension.
atleast_2d: Tensors of at least two dimensions.
atleast_3d: Tensors of at least three dimensions.
avg_pool1d: Means over windows along the last dimension.
avg_pool2d: Means over windows along the last two dimensions.
    >>> ctsc.nn.functional.avg_pool2d(ctsc.ones(1, 1, 4, 4), 2)
    tensor([[[[1., 1.],
              [1., 1.]]]])
avg_pool3d: Means over windows along the last three dimensions.
baddbmm: beta * input + alpha * the products of two batches of matrices.
bartlett_window: A window that rises and falls in straight lines.
batch_norm: Each channel (dimension 1) less its mean over its standard deviation, of the batch in training, else of the running statistics.
bernoulli: 0 or 1 with the probability that each element is, or p.
bilinear: x1 @ weight @ x2 + bias for each output feature.
binary_cross_entropy: The cross entropy of probabilities and targets between 0 and 1.
binary_cross_entropy_with_logits: The cross entropy of sigmoid(input) and targets between 0 and 1, computed without overflow.
bincount: How often each number from 0 occurs, or the sum of its weights.
    >>> ctsc.bincount(ctsc.tensor([0, 2, 2]))
    tensor([1, 0, 2])
binomial: Random numbers of successes in count trials with the probabilities prob.
bitwise_and: The bits that both have; of bools, and.
    >>> ctsc.bitwise_and(ctsc.tensor([6]), 3)
    tensor([2])
bitwise_left_shift: Bits moved to the left: input * 2 ** other.
bitwise_not: The other bits; of bools, not.
bitwise_or: The bits that either has; of bools, or.
bitwise_right_shift: Bits moved to the right, with the sign's.
bitwise_xor: The bits that one of them has; of bools, which differ.
blackman_window: The Blackman window.
bmm: The products of two batches of matrices: (b, n, m) and (b, m, p) give (b, n, p).
    >>> ctsc.bmm(ctsc.ones(2, 1, 3), ctsc.ones(2, 3, 1)).shape
    ctsc.Size([2, 1, 1])
broadcast_to: The tensor expanded to a size, as a view.
bucketize: For each element the place among sorted boundaries where it belongs.
    >>> ctsc.bucketize(ctsc.tensor([1., 6.]), ctsc.tensor([0., 5.]))
    tensor([1, 2])
cat: Tensors one after the other along a dimension; the others have equal sizes.
    >>> ctsc.cat([ctsc.zeros(2), ctsc.ones(1)])
    tensor([0., 0., 1.])
cauchy: Random numbers of a Cauchy distribution.
ccol_indices: Where the columns of a CSC or BSC tensor start.
ceil: The smallest integer not below each element.
celu: max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).
chain_matmul: The product of matrices, in the order that needs the least arithmetic.
chalf: The elements as complex32.
channel_shuffle: Channels of several groups taken in turns.
cholesky: The triangular factor of positive definite matrices.
cholesky_inverse: The inverse of matrices whose Cholesky factors are given.
cholesky_solve: The solution of linear equations with matrices whose Cholesky factors are given.
choose_qparams_optimized: The scale and zero point that lose least.
chunk: The tensor in at most the given number of parts of one size along a dimension, as views.
    >>> ctsc.chunk(ctsc.arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
clamp: Each element, but not below min, nor above max.
    >>> ctsc.clamp(ctsc.tensor([-2., 0.5, 3.]), min=0, max=1)
    tensor([0.0000, 0.5000, 1.0000])
clamp_max: Each element, but not above max.
clamp_min: Each element, but not below min.
clone: A copy with memory of its own; gradients flow to the original.
coalesce: A sparse tensor with its indices in order, and each once.
col2im: The sum of windows at their places in images: the reverse of im2col.
col_indices: The column of each element of a CSR or BSR tensor.
column_stack: Tensors side by side, vectors as columns.
    >>> ctsc.column_stack([ctsc.tensor([1, 2]), ctsc.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
combinations: All combinations of r elements of a vector, one a row.
    >>> ctsc.combinations(ctsc.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
complex: Complex numbers of real and imaginary parts.
conj: The complex conjugates, as a view.
conj_physical: The complex conjugates, computed.
constant_pad_nd: The tensor with borders of one value.
contiguous: The tensor itself if its elements lie in order, else a copy where they do.
conv1d: Cross-correlation along the last dimension: (N, C, L) with weights (out, C / groups, k).
    >>> ctsc.nn.functional.conv1d(ctsc.ones(1, 1, 5), ctsc.ones(1, 1, 3))
    tensor([[[3., 3., 3.]]])
conv2d: Cross-correlation along the last two dimensions: (N, C, H, W) with weights (out, C / groups, kh, kw).
    >>> ctsc.nn.functional.conv2d(ctsc.ones(1, 1, 4, 4), ctsc.ones(2, 1, 3, 3)).shape
    ctsc.Size([1, 2, 2, 2])
conv3d: Cross-correlation along the last three dimensions: (N, C, D, H, W) with weights (out, C / groups, kd, kh, kw).
conv_tbc: Convolution of a sequence (time, batch, channels).
conv_transpose1d: The gradient of conv1d with respect to its input, as an operator of its own.
conv_transpose2d: The gradient of conv2d with respect to its input, as an operator of its own.
conv_transpose3d: The gradient of conv3d with respect to its input, as an operator of its own.
convolution: Any convolution, transposed or not, of 1 to 3 dimensions.
copy: The elements of src in the sizes of input.
copy_: Copies src, broadcast and converted, into the tensor; returns that.
copysign: The magnitude of input with the sign of other.
corrcoef: The correlation of each pair of rows.
cos: Cosine of each element.
cosh: Hyperbolic cosine of each element.
cosine_embedding_loss: 1 - cos for pairs with target 1, max(0, cos - margin) for those with -1.
cosine_similarity: The cosine of the angle between vectors along a dimension.
    >>> ctsc.cosine_similarity(ctsc.tensor([[1., 0.]]), ctsc.tensor([[1., 0.]]))
    tensor([1.])
count_nonzero: How many elements are not zero, of all or along dimensions.
cov: The covariance of each pair of rows.
cross: The cross product of vectors of three elements.
cross_entropy_loss: The cross entropy of scores and the classes' indices, or their probabilities.
crow_indices: Where the rows of a CSR or BSR tensor start.
ctc_loss: The connectionist temporal classification loss: of all alignments of a sequence with its labels.
cummax: The largest element so far along a dimension, and where it is.
cummin: The smallest element so far along a dimension, and where it is.
cumprod: The product of the elements so far along a dimension.
cumsum: The sum of the elements so far along a dimension.
    >>> ctsc.cumsum(ctsc.tensor([1, 2, 3]), 0)
    tensor([1, 3, 6])
cumulative_trapezoid: The integral so far along a dimension, by the trapezoidal rule.
deg2rad: Degrees as radians.
dense_dim: How many dimensions of a sparse tensor are dense.
dequantize: The numbers that quantised elements stand for.
det: The determinants of square matrices.
    >>> ctsc.det(ctsc.eye(2) * 3)
    tensor(9.)
detach: The tensor's elements, shared, without its gradient.
diag: A matrix with a vector on its diagonal, or the diagonal of a matrix.
    >>> ctsc.diag(ctsc.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
diag_embed: Matrices whose diagonals are the vectors of the last dimension.
diagflat: A matrix with the flattened tensor on its diagonal.
diagonal: A diagonal of two dimensions, as a view.
diagonal_scatter: A copy of input with src on its diagonal.
diff: The differences of neighbours along a dimension, n times.
    >>> ctsc.diff(ctsc.tensor([1, 4, 9]))
    tensor([3, 5])
digamma: The derivative of the logarithm of the gamma function.
dist: The p-norm of input - other.
div: input / other, rounded with rounding_mode "trunc" or "floor".
    >>> ctsc.div(ctsc.tensor([7., -7.]), 2, rounding_mode="floor")
    tensor([ 3., -4.])
dot: The sum of the products of two vectors' elements.
    >>> ctsc.dot(ctsc.tensor([1., 2.]), ctsc.tensor([3., 4.]))
    tensor(11.)
dropout: In training, elements zeroed with probability p, the others multiplied by 1 / (1 - p).
dsplit: Parts along the third dimension, as views.
dstack: Tensors one behind the other, along a third dimension.
einsum: Sums of products, written with a letter per dimension.
elu: x where it is positive, alpha * (exp(x) - 1) elsewhere.
embedding: The rows of weight at the indices.
    >>> ctsc.nn.functional.embedding(ctsc.tensor([1, 0]), ctsc.eye(2))
    tensor([[0., 1.],
            [1., 0.]])
embedding_bag: Sums, means or maxima of the rows of weight at bags of indices.
embedding_renorm: The rows of weight at the indices, scaled down to a norm.
empty: A tensor whose elements are not set.
empty_like: A tensor of another's size and dtype whose elements are not set.
empty_permuted: A tensor whose dimensions lie in memory in the given order, not set.
empty_quantized: A quantised tensor whose elements are not set.
empty_strided: A tensor with the given strides whose elements are not set.
eq: Which elements are equal.
    >>> ctsc.eq(ctsc.tensor([1, 2]), 2)
    tensor([False,  True])
equal: Whether two tensors have the same size and elements.
    >>> ctsc.equal(ctsc.ones(2), ctsc.ones(2))
    True
erf: The error function of each element.
erfc: 1 - erf(x), exact where that is small.
erfinv: The inverse of the error function.
exp: e to the power of each element.
    >>> ctsc.exp(ctsc.zeros(2))
    tensor([1., 1.])
exp2: 2 to the power of each element.
expand: The tensor with dimensions of size 1 repeated, as a view; -1 keeps a size.
    >>> ctsc.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
expand_as: The tensor expanded to another's size, as a view.
expm1: exp(x) - 1, exact near zero.
exponential: Random numbers of an exponential distribution.
eye: The identity matrix.
    >>> ctsc.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
fake_quantize_per_channel_affine: Each element as it is after quantisation, with a scale per channel.
fake_quantize_per_tensor_affine: Each element as it is after quantisation, with one scale.
feature_alpha_dropout: Alpha dropout of whole channels.
feature_dropout: Dropout of whole channels.
fft_fft: The discrete Fourier transform along a dimension.
    >>> ctsc.fft.fft(ctsc.tensor([1., 0., 0.]))
    tensor([1.+0.j, 1.+0.j, 1.-0.j])
fft_fft2: The discrete Fourier transform along two dimensions.
fft_fftfreq: The frequencies of what fft gives.
fft_fftn: The discrete Fourier transform along all or the given dimensions.
fft_fftshift: The halves exchanged, so that frequency zero is in the middle.
fft_hfft: The transform of half of a Hermitian signal: real.
fft_hfft2: hfft along two dimensions.
fft_hfftn: hfft along all or the given dimensions.
fft_ifft: The inverse of fft.
fft_ifft2: The inverse of fft2.
fft_ifftn: The inverse of fftn.
fft_ifftshift: The inverse of fftshift.
fft_ihfft: The inverse of hfft.
fft_ihfft2: The inverse of hfft2.
fft_ihfftn: The inverse of hfftn.
fft_irfft: The inverse of rfft; n is the length of the result.
fft_irfft2: The inverse of rfft2.
fft_irfftn: The inverse of rfftn.
fft_rfft: The transform of a real signal: the half that is not redundant.
fft_rfft2: rfft along two dimensions.
fft_rfftfreq: The frequencies of what rfft gives.
fft_rfftn: rfft along all or the given dimensions.
fill: The value in each place of a tensor like input.
fill_diagonal_: Writes the value to the diagonal; returns the tensor.
flatten: Dimensions from start_dim to end_dim as one.
    >>> ctsc.flatten(ctsc.ones(2, 3, 4), 1).shape
    ctsc.Size([2, 12])
flatten_dense_tensors: The elements of all tensors in one vector.
flip: The tensor in reverse along dimensions.
    >>> ctsc.flip(ctsc.tensor([1, 2, 3]), [0])
    tensor([3, 2, 1])
fliplr: The tensor in reverse along its second dimension.
flipud: The tensor in reverse along its first dimension.
float_power: Powers computed in float64 or complex128.
floor: The largest integer not above each element.
floor_divide: input / other, rounded down.
fmax: The larger of two, and that which is a number if the other is nan.
fmin: The smaller of two, and that which is a number if the other is nan.
fmod: The remainder of the division, with the sign of input.
frac: What trunc leaves of each element.
fractional_max_pool2d: Maxima over windows of random places, for a size of the result or a ratio.
fractional_max_pool3d: Maxima over windows of random places in three dimensions.
frexp: Mantissa and exponent of each element.
frobenius_norm: The root of the sum of squares.
from_file: A tensor that is the memory of a file.
full: A tensor of one value.
    >>> ctsc.full((2,), 7)
    tensor([7, 7])
full_like: A tensor of one value with another's size and dtype.
fused_moving_avg_obs_fake_quant: Fake quantisation with observed ranges that move.
gather: out[i][j] = input[i][index[i][j]] for dim 1, and so for other dimensions.
    >>> ctsc.gather(ctsc.tensor([[1, 2], [3, 4]]), 1, ctsc.tensor([[0], [1]]))
    tensor([[1],
            [4]])
gcd: The greatest common divisor.
ge: Which elements are greater or equal.
gelu: x times the normal distribution function at x, or its approximation by tanh.
geometric: Random numbers of a geometric distribution.
geqrf: The QR decomposition as LAPACK keeps it.
get_device: The index of the tensor's GPU, -1 for the CPU.
glu: The first half along a dimension times the sigmoid of the second.
gradient: Estimates of derivatives along dimensions, by central differences.
grid_sampler: Images sampled at the places that a grid says.
grid_sampler_2d: Images sampled at the places that a grid says.
grid_sampler_3d: Volumes sampled at the places that a grid says.
group_norm: Normalisation over groups of channels of each element of a batch.
gru: A gated recurrent network over a sequence.
gru_cell: One step of a gated recurrent network.
gt: Which elements are greater.
hamming_window: The Hamming window.
hann_window: The Hann window.
    >>> ctsc.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
hardshrink: x where |x| > lambd, else zero.
hardsigmoid: clamp(x / 6 + 1 / 2, 0, 1).
hardswish: x * hardsigmoid(x).
hardtanh: Each element between min_val and max_val.
hash_tensor: A number that all bits of the tensor, or of a dimension, decide.
heaviside: 0 for negative elements, 1 for positive ones, values for zeros.
hinge_embedding_loss: x for target 1, max(0, margin - x) for -1.
histc: How many elements are in each of bins equal ranges.
histogram: How many elements are in each of the ranges, and their edges.
histogramdd: The histogram of points of several dimensions.
hsplit: Parts along the second dimension, as views.
hspmm: The product of a sparse and a dense matrix, as a hybrid tensor.
hstack: Tensors side by side.
    >>> ctsc.hstack([ctsc.zeros(1), ctsc.ones(2)])
    tensor([0., 1., 1.])
huber_loss: Half the squared difference where it is below delta, else delta * (difference - delta / 2).
hypot: The root of input ** 2 + other ** 2.
i0: The modified Bessel function of the first kind, order 0.
igamma: The lower incomplete gamma function, regularised.
igammac: The upper incomplete gamma function, regularised.
im2col: The windows of images as columns.
index: Elements at indices, as x[indices] has them.
index_add: input with alpha * source added at the indices of a dimension.
index_copy: input with source at the indices of a dimension.
index_fill: input with a value at the indices of a dimension.
index_put: input with values at indices, written or added.
index_reduce: input with source combined at the indices of a dimension.
index_select: The rows, or slices of another dimension, at the indices.
    >>> ctsc.index_select(ctsc.eye(3), 0, ctsc.tensor([2]))
    tensor([[0., 0., 1.]])
indices: The indices of a coalesced sparse tensor.
inner: Sums of products over the last dimensions.
instance_norm: Each channel of each element of a batch normalised by itself.
int_repr: The integers that a quantised tensor stores.
is_coalesced: Whether a sparse tensor has each index once, in order.
is_conj: Whether the tensor is a view of conjugates.
is_distributed: False.
is_inference: Whether the tensor was made in inference mode.
is_neg: Whether the tensor is a view of negatives.
is_non_overlapping_and_dense: Whether the elements fill their memory, each once.
is_nonzero: Whether the one element is not zero.
is_pinned: Whether the memory is page-locked.
is_same_size: Whether two tensors have the same size.
is_set_to: Whether two tensors are the same view of the same memory.
is_signed: Whether the dtype has negative numbers.
isclose: Which elements satisfy |input - other| <= atol + rtol * |other|.
isfinite: Which elements are neither infinite nor nan.
isin: Which elements are among test_elements.
    >>> ctsc.isin(ctsc.tensor([1, 2, 3]), ctsc.tensor([2]))
    tensor([False,  True, False])
isinf: Which elements are infinite.
isnan: Which elements are nan.
isneginf: Which elements are minus infinity.
isposinf: Which elements are plus infinity.
isreal: Which elements have no imaginary part.
istft: The signal of a short-time Fourier transform.
kaiser_window: The Kaiser window.
kl_div: The Kullback-Leibler divergence of targets and log-probabilities.
kron: The Kronecker product.
kthvalue: The k-th smallest elements along a dimension, and where they are.
l1_loss: The mean, or sum, of the absolute differences.
layer_norm: The last dimensions less their mean over their standard deviation, times weight, plus bias.
    >>> ctsc.nn.functional.layer_norm(ctsc.tensor([1., 3.]), (2,))
    tensor([-1.0000,  1.0000])
lcm: The least common multiple.
ldexp: input * 2 ** other.
le: Which elements are less or equal.
leaky_relu: x where it is positive, negative_slope * x elsewhere.
lerp: input + weight * (end - input).
lgamma: The logarithm of the gamma function's absolute value.
linalg_cholesky: The triangular factor of positive definite matrices.
    >>> ctsc.linalg.cholesky(ctsc.eye(2) * 4)
    tensor([[2., 0.],
            [0., 2.]])
linalg_cholesky_ex: cholesky, with LAPACK's info instead of an error.
linalg_cond: The condition number of matrices.
linalg_cross: The cross product of vectors of three elements along a dimension.
linalg_det: The determinants of square matrices.
linalg_diagonal: The diagonals of matrices.
linalg_eig: Eigenvalues and eigenvectors of square matrices: complex.
linalg_eigh: Eigenvalues, in rising order, and eigenvectors of Hermitian matrices.
linalg_eigvals: The eigenvalues of square matrices: complex.
linalg_eigvalsh: The eigenvalues of Hermitian matrices, in rising order.
linalg_householder_product: The first columns of a product of Householder reflections.
linalg_inv: The inverses of square matrices; an error where there is none.
    >>> ctsc.linalg.inv(ctsc.eye(2) * 2)
    tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]])
linalg_inv_ex: inv, with LAPACK's info instead of an error.
linalg_ldl_factor: The LDL factorisation of Hermitian matrices.
linalg_ldl_factor_ex: ldl_factor, with LAPACK's info.
linalg_ldl_solve: The solution of linear equations by an LDL factorisation.
linalg_lstsq: The solution of least squares.
linalg_lu: The factors P, L and U of matrices.
linalg_lu_factor: The LU factorisation, compact, and its pivots.
linalg_lu_factor_ex: lu_factor, with LAPACK's info instead of an error.
linalg_lu_solve: The solution of linear equations by an LU factorisation.
linalg_matrix_exp: The exponential of square matrices.
linalg_matrix_norm: A norm of matrices: "fro", "nuc", inf, -inf, 1, -1, 2 or -2.
linalg_matrix_power: A power of square matrices, of their inverses for negative n.
linalg_matrix_rank: The numerical rank of matrices.
linalg_matrix_sqrth: The square root of Hermitian matrices.
linalg_multi_dot: The product of matrices, in the order that needs the least arithmetic.
linalg_norm: A norm of vectors or matrices.
    >>> ctsc.linalg.norm(ctsc.tensor([3., 4.]))
    tensor(5.)
linalg_pinv: The pseudo-inverse of matrices.
linalg_polar: The polar decomposition of matrices.
linalg_qr: The factors Q and R of matrices.
linalg_slogdet: Sign and logarithm of the absolute determinant.
linalg_solve: The solution X of A @ X = B.
    >>> ctsc.linalg.solve(ctsc.eye(2) * 2, ctsc.tensor([2., 4.]))
    tensor([1., 2.])
linalg_solve_ex: solve, with LAPACK's info instead of an error.
linalg_solve_triangular: The solution of equations with triangular matrices.
linalg_svd: The singular value decomposition U, S, Vh.
linalg_svdvals: The singular values, in falling order.
linalg_tensorinv: The inverse of a tensor as a map of its last dimensions.
linalg_tensorsolve: The solution of tensordot(A, X) = B.
linalg_vander: The Vandermonde matrix.
linalg_vecdot: The sum of conj(x) * y along a dimension.
linalg_vector_norm: The p-norm of vectors, of all elements or along dimensions.
linear: input @ weight.T + bias over the last dimension.
    >>> ctsc.nn.functional.linear(ctsc.ones(1, 2), ctsc.ones(3, 2))
    tensor([[2., 2., 2.]])
linspace: steps numbers from start to end, with end, at equal distances.
    >>> ctsc.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
log: Natural logarithm of each element.
log10: Logarithm to base 10.
log1p: log(1 + x), exact near zero.
log2: Logarithm to base 2.
log_normal: Random numbers whose logarithms are of a normal distribution.
log_sigmoid: log(1 / (1 + exp(-x))).
log_softmax: The logarithm of softmax, computed without overflow.
logaddexp: log(exp(input) + exp(other)), without overflow.
logaddexp2: log2(2 ** input + 2 ** other), without overflow.
logcumsumexp: The logarithm of the sum of the exponentials so far.
logdet: The logarithm of the determinant; nan where that is negative.
logical_and: Which elements are both not zero.
logical_not: Which elements are zero.
logical_or: Which elements are not both zero.
logical_xor: Where just one of the elements is not zero.
logit: log(x / (1 - x)), of x clamped to [eps, 1 - eps].
logspace: base to the power of steps numbers from start to end.
logsumexp: The logarithm of the sum of exponentials along dimensions, without overflow.
    >>> ctsc.logsumexp(ctsc.zeros(2), 0)
    tensor(0.6931)
lstm: A network of long short-term memory over a sequence.
lstm_cell: One step of long short-term memory.
lt: Which elements are less.
lu_solve: The solution of linear equations by an LU factorisation.
lu_unpack: P, L and U of a compact LU factorisation.
margin_ranking_loss: max(0, -target * (input1 - input2) + margin).
masked_fill: input with a value where the mask is true.
    >>> ctsc.zeros(2).masked_fill(ctsc.tensor([True, False]), 5)
    tensor([5., 0.])
masked_scatter: input with the elements of source, in order, where the mask is true.
masked_select: The elements where the mask is true, as a vector.
    >>> ctsc.masked_select(ctsc.arange(3), ctsc.tensor([True, False, True]))
    tensor([0, 2])
matmul: The product of vectors, matrices, or batches of matrices that are broadcast.
    >>> ctsc.matmul(ctsc.ones(2, 3), ctsc.ones(3))
    tensor([3., 3.])
max: The largest element; with dim the largest along it, and where they are; of two tensors the larger of each pair.
    >>> ctsc.max(ctsc.tensor([1, 3, 2]))
    tensor(3)
max_pool1d: Maxima over windows along the last dimension.
max_pool1d_with_indices: Maxima over windows along the last dimension, and where they are.
max_pool2d: Maxima over windows along the last two dimensions.
max_pool2d_with_indices: Maxima over windows along the last two dimensions, and where they are.
max_pool3d: Maxima over windows along the last three dimensions.
max_pool3d_with_indices: Maxima over windows along the last three dimensions, and where they are.
max_unpool2d: Elements at the places that max_pool2d found them, zeros elsewhere.
max_unpool3d: Elements at the places that max_pool3d found them, zeros elsewhere.
maximum: The larger of two elements; nan if one is.
    >>> ctsc.maximum(ctsc.tensor([1, 4]), ctsc.tensor([3, 2]))
    tensor([3, 4])
mean: The mean of all elements, or along dimensions.
    >>> ctsc.mean(ctsc.tensor([1., 3.]))
    tensor(2.)
median: The middle element, the lower of two; with dim along it, and where they are.
min: The smallest element; with dim the smallest along it, and where they are; of two tensors the smaller of each pair.
minimum: The smaller of two elements; nan if one is.
mish: x * tanh(softplus(x)).
mm: The product of two matrices.
    >>> ctsc.mm(ctsc.eye(2), ctsc.ones(2, 2))
    tensor([[1., 1.],
            [1., 1.]])
mode: The element that occurs most often along a dimension, and where it is.
movedim: The tensor with dimensions at other places, as a view.
mse_loss: The mean, or sum, of the squared differences.
msort: The tensor sorted along its first dimension.
mul: input * other, element by element, broadcast.
multi_margin_loss: The mean of max(0, margin - x[y] + x[i]) ** p over the other classes.
multilabel_margin_loss: The margin loss of several classes at once.
multinomial: Indices drawn with the probabilities that the elements are in proportion to.
mv: The product of a matrix and a vector.
mvlgamma: The logarithm of the multivariate gamma function.
nan_to_num: The elements, with numbers for nan and infinities.
nanmean: The mean without nans.
nanmedian: The median without nans.
nanquantile: Quantiles without nans.
nansum: The sum without nans.
narrow: length slices of a dimension from start on, as a view.
native_norm: The p-norm of all elements.
ne: Which elements differ.
neg: -input.
nested_to_padded_tensor: The parts of a nested tensor with padding.
new_empty: A tensor of the same dtype that is not set.
new_empty_strided: A tensor of the same dtype with the given strides, not set.
new_full: A tensor of one value with the same dtype.
new_ones: A tensor of ones with the same dtype.
new_zeros: A tensor of zeros with the same dtype.
nextafter: The next number after input towards other.
nll_loss: -weight[target] * input[target] of log-probabilities.
nll_loss2d: nll_loss for each pixel.
nll_loss_nd: nll_loss for inputs of any number of dimensions.
nonzero_numpy: The indices of all elements that are not zero, a tensor per dimension.
nonzero_static: The indices of elements that are not zero, in a result of a fixed size.
norm_except_dim: The norms over all dimensions but one.
normal: Random numbers of normal distributions with the given means and standard deviations.
nuclear_norm: The sum of the singular values.
one_hot: A 1 at each index, zeros elsewhere, along a new dimension.
    >>> ctsc.nn.functional.one_hot(ctsc.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
ones: A tensor of ones.
    >>> ctsc.ones(2)
    tensor([1., 1.])
ones_like: A tensor of ones with another's size and dtype.
ormqr: The product of a matrix and the Q of a QR decomposition.
outer: The products of each element of one vector with each of the other.
    >>> ctsc.outer(ctsc.tensor([1, 2]), ctsc.tensor([1, 2]))
    tensor([[1, 2],
            [2, 4]])
output_nr: Which result of its operator the tensor is.
pad: The tensor with borders: pairs of sizes from the last dimension on; mode "constant", "reflect", "replicate" or "circular".
    >>> ctsc.nn.functional.pad(ctsc.ones(2), (1, 0))
    tensor([0., 1., 1.])
pad_sequence: Sequences of different lengths as one tensor, with padding.
pairwise_distance: The p-norm of the difference of vectors.
pdist: The distances of all pairs of rows.
permute: The tensor with its dimensions in another order, as a view.
    >>> ctsc.ones(2, 3).permute(1, 0).shape
    ctsc.Size([3, 2])
pin_memory: A copy in page-locked memory.
pinverse: The pseudo-inverse of matrices.
pixel_shuffle: Channels moved into r times the height and width.
pixel_unshuffle: The reverse of pixel_shuffle.
poisson: Random numbers of Poisson distributions with the rates that the elements are.
poisson_nll_loss: The negative log-likelihood of Poisson distributions.
polar: Complex numbers of magnitudes and angles.
polygamma: The n-th derivative of digamma.
positive: The tensor itself.
pow: input to the power of exponent.
    >>> ctsc.pow(ctsc.tensor([1., 2.]), 3)
    tensor([1., 8.])
prelu: x where it is positive, weight * x elsewhere.
prod: The product of all elements, or along a dimension.
put: input with source at the indices of the flattened tensor.
q_per_channel_axis: The dimension of the channels of a quantised tensor.
q_per_channel_scales: The scales of the channels of a quantised tensor.
q_per_channel_zero_points: The zero points of the channels of a quantised tensor.
q_scale: The scale of a quantised tensor.
q_zero_point: The zero point of a quantised tensor.
qr: The factors Q and R of matrices.
quantile: Quantiles of all elements or along a dimension, interpolated.
    >>> ctsc.quantile(ctsc.tensor([1., 2., 3.]), 0.5)
    tensor(2.)
quantize_per_channel: A quantised tensor with a scale and a zero point per channel.
quantize_per_tensor: A quantised tensor with one scale and zero point.
quantize_per_tensor_dynamic: A quantised tensor with the scale of its range.
rad2deg: Radians as degrees.
rand: Random numbers between 0 and 1.
rand_like: Random numbers between 0 and 1 with another's size and dtype.
randint: Random integers from low up to high, without high.
randint_like: Random integers with another's size and dtype.
randn: Random numbers of the standard normal distribution.
    >>> ctsc.randn(2, 3).shape
    ctsc.Size([2, 3])
randn_like: Random numbers of the standard normal distribution with another's size and dtype.
random: Random integers of the dtype's range, or of the given one.
randperm: The numbers from 0 to n - 1 in a random order.
range: The numbers from start to end, with end.
ravel: The tensor as a vector.
reciprocal: 1 / input.
record_stream: Nothing on the CPU.
refine_names: A named tensor with names for dimensions that had none.
reflection_pad1d: Borders that mirror the last dimension.
reflection_pad2d: Borders that mirror the last two dimensions.
reflection_pad3d: Borders that mirror the last three dimensions.
relu: max(0, x).
    >>> ctsc.relu(ctsc.tensor([-1., 2.]))
    tensor([0., 2.])
relu6: Each element between 0 and 6.
remainder: The remainder of the division, with the sign of other.
    >>> ctsc.remainder(ctsc.tensor([-3, 3]), 2)
    tensor([1, 1])
rename: The tensor with other names of its dimensions.
renorm: The slices along a dimension, scaled down to a norm.
repeat: The tensor repeated along its dimensions, copied.
    >>> ctsc.tensor([1, 2]).repeat(2)
    tensor([1, 2, 1, 2])
repeat_interleave: Each element repeated.
    >>> ctsc.repeat_interleave(ctsc.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
replication_pad1d: Borders that repeat the edge of the last dimension.
replication_pad2d: Borders that repeat the edges of the last two dimensions.
replication_pad3d: Borders that repeat the edges of the last three dimensions.
reshape: The elements in another size; a view where that is possible; -1 stands for what is left.
    >>> ctsc.arange(4).reshape(2, -1)
    tensor([[0, 1],
            [2, 3]])
reshape_as: The elements in another's size.
resize: The tensor in another size, new elements not set.
resize_as: The tensor in another's size, new elements not set.
resolve_conj: The tensor with conjugates computed.
resolve_neg: The tensor with negatives computed.
retain_grad: Keeps the gradient of a tensor that is not a leaf in its grad.
rms_norm: The last dimensions over the root of their mean square, times weight.
rnn_relu: A recurrent network with relu over a sequence.
rnn_relu_cell: One step of a recurrent network with relu.
rnn_tanh: A recurrent network with tanh over a sequence.
rnn_tanh_cell: One step of a recurrent network with tanh.
roll: Elements moved along dimensions, from the end to the start.
    >>> ctsc.roll(ctsc.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
rot90: The tensor turned by 90 degrees k times.
round: The nearest integer, the even one of two; or so many decimals.
    >>> ctsc.round(ctsc.tensor([0.5, 1.5]))
    tensor([0., 2.])
row_indices: The row of each element of a CSC or BSC tensor.
rrelu: Leaky relu with a random slope in training.
rrelu_with_noise: rrelu, with the slopes that were drawn.
rsqrt: 1 / sqrt(x).
rsub: other - alpha * input.
scalar_tensor: A tensor of one number without dimensions.
scaled_dot_product_attention: softmax(query @ key.T * scale + mask) @ value, causal on request.
scatter: input with src at index along a dimension: the reverse of gather.
scatter_add: input with src added at index along a dimension.
scatter_reduce: input with src combined at index: "sum", "prod", "mean", "amax" or "amin".
searchsorted: For each value the place in a sorted sequence where it belongs.
segment_reduce: Sums, means, maxima or minima of segments.
select: The slice at an index of a dimension, as a view.
select_scatter: A copy of input with src at an index of a dimension.
selu: scale * (max(0, x) + min(0, alpha * (exp(x) - 1))) with the constants that keep mean and variance.
set: A tensor of another's memory.
sgn: x / |x|, zero of zero.
shallow_copy_data_: The tensor with another's elements.
sigmoid: 1 / (1 + exp(-x)).
    >>> ctsc.sigmoid(ctsc.zeros(1))
    tensor([0.5000])
sign: -1, 0 or 1.
signbit: Which elements have a minus sign.
silu: x * sigmoid(x).
sin: Sine of each element.
sinc: sin(pi * x) / (pi * x), 1 of zero.
sinh: Hyperbolic sine of each element.
slice_inverse: A view whose slice is the given one.
slice_scatter: A copy of input with src in a slice of a dimension.
slogdet: Sign and logarithm of the absolute determinant.
smm: The product of a sparse and a dense matrix.
smooth_l1_loss: Half the squared difference over beta below beta, else the absolute difference less beta / 2.
soft_margin_loss: log(1 + exp(-target * x)).
softmax: exp(x) over the sum of exp(x) along a dimension, without overflow.
    >>> ctsc.softmax(ctsc.zeros(2), 0)
    tensor([0.5000, 0.5000])
softplus: log(1 + exp(beta * x)) / beta.
softshrink: x moved towards zero by lambd, zero within.
sort: The elements in order along a dimension, and where they were.
    >>> ctsc.sort(ctsc.tensor([3, 1, 2]))[0]
    tensor([1, 2, 3])
sparse_dim: How many dimensions of a sparse tensor are sparse.
sparse_mask: The elements of a tensor where a sparse one has any.
sparse_resize: A sparse tensor in another size.
sparse_resize_and_clear: A sparse tensor in another size without elements.
sparse_sampled_addmm: The products of two matrices where a sparse one has elements.
special_airy_ai: The Airy function Ai.
special_bessel_j0: The Bessel function of the first kind, order 0.
special_bessel_j1: The Bessel function of the first kind, order 1.
special_bessel_y0: The Bessel function of the second kind, order 0.
special_bessel_y1: The Bessel function of the second kind, order 1.
special_chebyshev_polynomial_t: Chebyshev polynomials of the first kind, of degree n.
special_chebyshev_polynomial_u: Chebyshev polynomials of the second kind, of degree n.
special_chebyshev_polynomial_v: Chebyshev polynomials of the third kind, of degree n.
special_chebyshev_polynomial_w: Chebyshev polynomials of the fourth kind, of degree n.
special_entr: -x * log(x).
special_erfcx: exp(x ** 2) * erfc(x).
special_hermite_polynomial_h: Physicists' Hermite polynomials of degree n.
special_hermite_polynomial_he: Probabilists' Hermite polynomials of degree n.
special_i0e: exp(-|x|) * i0(x).
special_i1: The modified Bessel function of the first kind, order 1.
special_i1e: exp(-|x|) * i1(x).
special_laguerre_polynomial_l: Laguerre polynomials of degree n.
special_legendre_polynomial_p: Legendre polynomials of degree n.
special_log_ndtr: The logarithm of the normal distribution function.
special_modified_bessel_i0: The modified Bessel function of the first kind, order 0.
special_modified_bessel_i1: The modified Bessel function of the first kind, order 1.
special_modified_bessel_k0: The modified Bessel function of the second kind, order 0.
special_modified_bessel_k1: The modified Bessel function of the second kind, order 1.
special_ndtr: The normal distribution function.
special_ndtri: The inverse of the normal distribution function.
special_scaled_modified_bessel_k0: exp(x) * k0(x).
special_scaled_modified_bessel_k1: exp(x) * k1(x).
special_shifted_chebyshev_polynomial_t: Chebyshev polynomials of the first kind at 2 x - 1.
special_shifted_chebyshev_polynomial_u: Chebyshev polynomials of the second kind at 2 x - 1.
special_shifted_chebyshev_polynomial_v: Chebyshev polynomials of the third kind at 2 x - 1.
special_shifted_chebyshev_polynomial_w: Chebyshev polynomials of the fourth kind at 2 x - 1.
special_spherical_bessel_j0: sin(x) / x.
special_xlog1py: x * log1p(y), zero where x is.
special_zeta: The Hurwitz zeta function.
split_with_sizes: Parts of the given sizes along a dimension, as views.
sqrt: The square root of each element.
square: x * x.
squeeze: The tensor without dimensions of size 1, as a view.
    >>> ctsc.ones(1, 2, 1).squeeze().shape
    ctsc.Size([2])
sspaddmm: beta * input + alpha * the product of a sparse and a dense matrix, sparse.
stack: Tensors of one size along a new dimension.
    >>> ctsc.stack([ctsc.zeros(2), ctsc.ones(2)])
    tensor([[0., 0.],
            [1., 1.]])
std: The standard deviation, of all elements or along dimensions.
std_mean: Standard deviation and mean.
stft: The short-time Fourier transform.
storage_offset: Where the first element is in its memory.
sub: input - alpha * other.
sum: The sum of all elements, or along dimensions.
    >>> ctsc.sum(ctsc.ones(2, 3), 0)
    tensor([2., 2., 2.])
sum_to_size: Sums along the dimensions that were broadcast.
svd: The singular value decomposition U, S, V.
symeig: Eigenvalues and eigenvectors of symmetric matrices.
t: The transpose of a matrix, as a view.
take: The elements at indices of the flattened tensor.
take_along_dim: The elements at indices along a dimension, broadcast.
tan: Tangent of each element.
tanh: Hyperbolic tangent of each element.
tensor_split: Parts along a dimension, a number of them or cut at indices, as views.
tensordot: Sums of products over several dimensions.
threshold: x where it is above threshold, else value.
tile: The tensor repeated along its dimensions.
to_dense: A sparse tensor with all its elements.
to_mkldnn: The tensor itself.
to_padded_tensor: The parts of a nested tensor with padding.
to_sparse: The tensor as a sparse one, with coordinates or another layout.
to_sparse_bsc: The tensor as blocks in compressed columns.
to_sparse_bsr: The tensor as blocks in compressed rows.
to_sparse_csc: The tensor in compressed columns.
to_sparse_csr: The tensor in compressed rows.
topk: The k largest, or smallest, elements along a dimension, and where they are.
    >>> ctsc.topk(ctsc.tensor([1, 5, 3]), 2)[0]
    tensor([5, 3])
trace: The sum of the diagonal of a matrix.
transpose: The tensor with two dimensions exchanged, as a view.
    >>> ctsc.ones(2, 3).transpose(0, 1).shape
    ctsc.Size([3, 2])
trapezoid: The integral along a dimension, by the trapezoidal rule.
triangular_solve: The solution of equations with a triangular matrix.
tril: The lower triangle of matrices, zeros elsewhere.
    >>> ctsc.tril(ctsc.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
tril_indices: The indices of a lower triangle.
triplet_margin_loss: max(0, |anchor - positive| - |anchor - negative| + margin).
triu: The upper triangle of matrices, zeros elsewhere.
triu_indices: The indices of an upper triangle.
trunc: The integer towards zero.
type_as: The tensor in another's dtype.
unbind: The slices of a dimension, as views.
unflatten: One dimension as several, as a view.
    >>> ctsc.ones(6).unflatten(0, (2, 3)).shape
    ctsc.Size([2, 3])
unflatten_dense_tensors: The parts of a vector in the sizes of tensors.
unfold: Windows of a dimension along a new one, as a view.
uniform: Random numbers between two.
unique_dim: The different slices along a dimension.
unique_dim_consecutive: The slices along a dimension without repetitions of neighbours.
unsqueeze: The tensor with a dimension of size 1 more, as a view.
    >>> ctsc.ones(2).unsqueeze(0).shape
    ctsc.Size([1, 2])
upsample_bicubic2d: Images in another size, by bicubic interpolation.
upsample_bilinear2d: Images in another size, by bilinear interpolation.
upsample_linear1d: Signals in another length, by linear interpolation.
upsample_nearest1d: Signals in another length, by the nearest elements.
upsample_nearest2d: Images in another size, by the nearest pixels.
upsample_nearest3d: Volumes in another size, by the nearest elements.
upsample_trilinear3d: Volumes in another size, by trilinear interpolation.
values: The elements that a sparse tensor stores.
vander: The Vandermonde matrix.
var: The variance, of all elements or along dimensions, with correction.
    >>> ctsc.var(ctsc.tensor([1., 3.]))
    tensor(2.)
var_mean: Variance and mean.
vdot: The sum of conj(input) * other of two vectors.
view: The same memory in another size or dtype.
    >>> ctsc.arange(4).view(2, 2)
    tensor([[0, 1],
            [2, 3]])
view_as: The same memory in another's size.
view_as_complex: Pairs of the last dimension as complex numbers, as a view.
view_as_real: Complex numbers as pairs along a new last dimension, as a view.
vsplit: Parts along the first dimension, as views.
vstack: Tensors one below the other.
xlogy: input * log(other), zero where input is.
zero: Zeros in the size of input.
zeros: A tensor of zeros.
    >>> ctsc.zeros(2)
    tensor([0., 0.])
zeros_like: A tensor of zeros with another's size and dtype.
"""

MEANINGS, EXAMPLES = {}, {}
for _line in _TEXT.strip().split("\n"):
    if _line.startswith("    "):
        EXAMPLES.setdefault(_name, []).append(_line[4:])
    else:
        _name, _, _text = _line.partition(": ")
        MEANINGS[_name] = _text
