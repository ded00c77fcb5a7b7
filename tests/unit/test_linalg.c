/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_linalg.c - linear algebra. The expected texts are PyTorch 1.13.1's.
 */
#include "opcase.h"

static const opcase lu_and_kin[] = {
    {"aten::_linalg_check_errors", "i32[2]{0 0} 'linalg.inv' false", ""},
    {"aten::_linalg_check_errors", "i32[]{2} 'linalg.inv' true",
     "!linalg.inv: The diagonal element 2 is zero, the inversion could not be completed because "
     "the input matrix is singular."},
    {"aten::_linalg_check_errors", "i32[3]{0 0 3} 'linalg.cholesky' false",
     "!linalg.cholesky: (Batch element 2): The factorization could not be completed because the "
     "input is not positive-definite (the leading minor of order 3 is not positive-definite)."},
    {"aten::linalg_det", "f64[3,3]{0 2 1 3 1 -1 1 1 4}", "f64[]{-24}"},
    {"aten::linalg_slogdet", "f64[3,3]{0 2 1 3 1 -1 1 1 4}", "f64[]{-1} f64[]{3.17805}"},
    {"aten::linalg_inv", "f64[3,3]{0 2 1 3 1 -1 1 1 4}",
     "f64[3,3]{-0.208333 0.291667 0.125 0.541667 0.0416667 -0.125 -0.0833333 -0.0833333 0.25}"},
    {"aten::linalg_inv_ex", "f64[3,3]{0 2 1 3 1 -1 1 1 4}",
     "f64[3,3]{-0.208333 0.291667 0.125 0.541667 0.0416667 -0.125 -0.0833333 -0.0833333 0.25} "
     "i32[]{0}"},
    {"aten::linalg_lu_factor_ex", "f64[3,3]{0 2 1 3 1 -1 1 1 4}",
     "f64[3,3]{3 1 -1 0 2 1 0.333333 0.333333 4} i32[3]{2 2 3} i32[]{0}"},
    {"aten::linalg_lu", "f64[3,3]{0 2 1 3 1 -1 1 1 4}",
     "f64[3,3]{0 1 0 1 0 0 0 0 1} f64[3,3]{1 0 0 0 1 0 0.333333 0.333333 1} f64[3,3]{3 1 -1 0 2 1"
     " 0 0 4}"},
    {"aten::logdet", "f64[3,3]{0 2 1 3 1 -1 1 1 4}", "f64[]{nan}"},
    {"aten::linalg_det", "f64[2,3,3]{0 2 1 3 1 -1 1 1 4 4 1 2 1 3 0.5 2 0.5 5}", "f64[2]{-24 44}"},
    {"aten::linalg_slogdet", "f64[2,3,3]{0 2 1 3 1 -1 1 1 4 4 1 2 1 3 0.5 2 0.5 5}",
     "f64[2]{-1 1} f64[2]{3.17805 3.78419}"},
    {"aten::linalg_inv", "f64[2,3,3]{0 2 1 3 1 -1 1 1 4 4 1 2 1 3 0.5 2 0.5 5}",
     "f64[2,3,3]{-0.208333 0.291667 0.125 0.541667 0.0416667 -0.125 -0.0833333 -0.0833333 0.25 "
     "0.335227 -0.0909091 -0.125 -0.0909091 0.363636 0 -0.125 0 0.25}"},
    {"aten::linalg_inv_ex", "f64[2,3,3]{0 2 1 3 1 -1 1 1 4 4 1 2 1 3 0.5 2 0.5 5}",
     "f64[2,3,3]{-0.208333 0.291667 0.125 0.541667 0.0416667 -0.125 -0.0833333 -0.0833333 0.25 "
     "0.335227 -0.0909091 -0.125 -0.0909091 0.363636 0 -0.125 0 0.25} i32[2]{0 0}"},
    {"aten::linalg_lu_factor_ex", "f64[2,3,3]{0 2 1 3 1 -1 1 1 4 4 1 2 1 3 0.5 2 0.5 5}",
     "f64[2,3,3]{3 1 -1 0 2 1 0.333333 0.333333 4 4 1 2 0.25 2.75 0 0.5 0 4} i32[2,3]{2 2 3 1 2 "
     "3} i32[2]{0 0}"},
    {"aten::linalg_lu", "f64[2,3,3]{0 2 1 3 1 -1 1 1 4 4 1 2 1 3 0.5 2 0.5 5}",
     "f64[2,3,3]{0 1 0 1 0 0 0 0 1 1 0 0 0 1 0 0 0 1} f64[2,3,3]{1 0 0 0 1 0 0.333333 0.333333 1 "
     "1 0 0 0.25 1 0 0.5 0 1} f64[2,3,3]{3 1 -1 0 2 1 0 0 4 4 1 2 0 2.75 0 0 0 4}"},
    {"aten::logdet", "f64[2,3,3]{0 2 1 3 1 -1 1 1 4 4 1 2 1 3 0.5 2 0.5 5}", "f64[2]{nan 3.78419}"},
    {"aten::linalg_det", "f64[3,3]^{0 2 1 3 1 -1 1 1 4}", "f64[]{-24}"},
    {"aten::linalg_slogdet", "f64[3,3]^{0 2 1 3 1 -1 1 1 4}", "f64[]{-1} f64[]{3.17805}"},
    {"aten::linalg_inv", "f64[3,3]^{0 2 1 3 1 -1 1 1 4}",
     "f64[3,3]{-0.208333 0.291667 0.125 0.541667 0.0416667 -0.125 -0.0833333 -0.0833333 0.25}"},
    {"aten::linalg_inv_ex", "f64[3,3]^{0 2 1 3 1 -1 1 1 4}",
     "f64[3,3]{-0.208333 0.291667 0.125 0.541667 0.0416667 -0.125 -0.0833333 -0.0833333 0.25} "
     "i32[]{0}"},
    {"aten::linalg_lu_factor_ex", "f64[3,3]^{0 2 1 3 1 -1 1 1 4}",
     "f64[3,3]{3 1 -1 0 2 1 0.333333 0.333333 4} i32[3]{2 2 3} i32[]{0}"},
    {"aten::linalg_lu", "f64[3,3]^{0 2 1 3 1 -1 1 1 4}",
     "f64[3,3]{0 1 0 1 0 0 0 0 1} f64[3,3]{1 0 0 0 1 0 0.333333 0.333333 1} f64[3,3]{3 1 -1 0 2 1"
     " 0 0 4}"},
    {"aten::logdet", "f64[3,3]^{0 2 1 3 1 -1 1 1 4}", "f64[]{nan}"},
    {"aten::linalg_solve", "c128[2,2]{1:2 2:-1 0:1 3:0} c128[2]{1:0 2:1}",
     "c128[2]{-0.2:0.4 0.8:0.4}"},
    {"aten::linalg_solve", "c64[2,2]{1:2 2:-1 0:1 3:0} c64[2,2]{1:0 2:1 0:1 -1:2} false",
     "c64[2,2]{0:-1 1:1 1:0 -1:1}"},
    {"aten::linalg_inv", "c128[2,2]{1:2 2:-1 0:1 3:0}",
     "c128[2,2]{0.3:-0.6 0:0.5 -0.2:-0.1 0.5:0}"},
    {"aten::linalg_inv", "c64[2,2]{0:0 0:0 0:0 0:0}",
     "!linalg.inv: The diagonal element 1 is zero, the inversion could not be completed because "
     "the input matrix is singular."},
    {"aten::linalg_det", "c128[2,2]{1:2 2:-1 0:1 3:0}", "c128[]{2:4}"},
    {"aten::linalg_det", "c64[2,0,0]{}", "c64[2]{1:0 1:0}"},
    {"aten::linalg_slogdet", "c128[2,2]{1:2 2:-1 0:1 3:0}",
     "c128[]{0.447214:0.894427} f64[]{1.49787}"},
    {"aten::linalg_slogdet", "c64[2,2]{0:0 0:0 0:0 0:0}", "c64[]{0:0} f32[]{-inf}"},
    {"aten::linalg_lu_factor_ex", "c128[2,2]{1:2 2:-1 0:1 3:0}",
     "c128[2,2]{1:2 2:-1 0.4:0.2 2:0} i32[2]{1 2} i32[]{0}"},
    {"aten::det", "f64[0,0]{}", "f64[]{1}"},
    {"aten::linalg_slogdet", "f32[2,2]{0 0 0 0}", "f32[]{0} f32[]{-inf}"},
    {"aten::linalg_lu", "f64[2,3]{-0.625 -0.25 -1 -0.125 -0.875 -0.5}",
     "f64[2,2]{1 0 0 1} f64[2,2]{1 0 0.2 1} f64[2,3]{-0.625 -0.25 -1 0 -0.825 -0.3}"},
    {"aten::linalg_lu", "f64[3,2]{1.25 -0 0.375 -0.375 -1.25 2}",
     "f64[3,3]{1 0 0 0 0 1 0 1 0} f64[3,2]{1 0 -1 1 0.3 -0.1875} f64[2,2]{1.25 -0 0 2}"},
    {"aten::linalg_solve", "f64[3,3]{0 2 1 3 1 -1 1 1 4} f64[3]{0.125 -2.75 1.125}",
     "f64[3]{-0.6875 -0.1875 0.5}"},
    {"aten::linalg_solve",
     "f64[2,3,3]{0 2 1 3 1 -1 1 1 4 4 1 2 1 3 0.5 2 0.5 5} f64[3,2]{-0.625 -0.25 -0.375 0.375 "
     "2.75 -0.75}",
     "f64[2,3,2]{0.364583 0.0677083 -0.697917 -0.0260417 0.770833 -0.197917 -0.519176 -0.0241477 "
     "-0.0795455 0.159091 0.765625 -0.15625}"},
    {"aten::linalg_solve",
     "f64[3,3]{0 2 1 3 1 -1 1 1 4} f64[2,3]{0.125 -0.5 1.5 1.25 0.125 -0.25} false",
     "f64[2,3]{-0.421875 -0.109375 0.453125 -0.171875 0.390625 0.078125}"},
    {"aten::linalg_solve_ex", "f64[3,3]{0 2 1 3 1 -1 1 1 4} f64[3,1]{-2.375 1.125 -0.25}",
     "f64[3,1]{0.791667 -1.20833 0.0416667} i32[]{0}"},
    {"aten::lu_unpack", "f64[3,3]{-1 1 1 -3 -1 -3 2 1 -1} i32[3]{2 3 3} true true",
     "f64[3,3]{0 0 1 1 0 0 0 1 0} f64[3,3]{1 0 0 -3 1 0 2 1 1} f64[3,3]{-1 1 1 0 -1 -3 0 0 -1}"},
    {"aten::lu_unpack", "f32[3,3]{-2 2 2 -2 -1 2 -2 0 1} i32[3]{2 3 3} false true",
     "f32[3,3]{0 0 1 1 0 0 0 1 0} f32[0]{} f32[0]{}"},
    {"aten::linalg_lu_solve", "f64[2,2]{5 0 -2 3} i32[2]{2 2} f64[2,1]{-0 0.75} true true",
     "f64[2,1]{0.25 0.5}"},
    {"aten::lu_solve", "f64[2,1]{0.875 0.5} f64[2,2]{8 -1 -3 4} i32[2]{1 2}",
     "f64[2,1]{0.207031 0.78125}"},
    {"aten::linalg_tensorinv", "f64[3,3,1]{0 2 1 3 1 -1 1 1 4} 1",
     "f64[3,1,3]{-0.208333 0.291667 0.125 0.541667 0.0416667 -0.125 -0.0833333 -0.0833333 0.25}"},
    {"aten::linalg_tensorsolve", "f64[3,1,3]{0 2 1 3 1 -1 1 1 4} f64[3,1]{-0 -1.875 1.75}",
     "f64[3]{-0.328125 -0.296875 0.59375}"},
    {"aten::linalg_inv", "f64[2,2]{1 1 1 1}",
     "!linalg.inv: The diagonal element 2 is zero, the inversion could not be completed because "
     "the input matrix is singular."},
    {"aten::linalg_inv", "f32[2,2,2]{1 1 1 1 1 1 1 1}",
     "!linalg.inv: (Batch element 0): The diagonal element 2 is zero, the inversion could not be "
     "completed because the input matrix is singular."},
    {"aten::linalg_inv", "f32[2,3]{1 1 1 1 1 1}",
     "!linalg.inv: A must be batches of square matrices, but they are 2 by 3 matrices"},
    {"aten::linalg_inv", "f32[2]{1 1}",
     "!linalg.inv: The input tensor A must have at least 2 dimensions."},
    {"aten::linalg_inv", "i64[2,2]{1 1 1 1}",
     "!linalg.inv: Expected a floating point or complex tensor as input. Got Long"},
    {"aten::linalg_inv_ex", "f64[2,2]{1 1 1 1} true",
     "!linalg.inv_ex: The diagonal element 2 is zero, the inversion could not be completed "
     "because the input matrix is singular."},
    {"aten::linalg_det", "f32[2,3]{1 1 1 1 1 1}",
     "!linalg.det: A must be batches of square matrices, but they are 2 by 3 matrices"},
    {"aten::linalg_det", "i64[2,2]{1 1 1 1}",
     "!linalg.det: Expected a floating point or complex tensor as input. Got Long"},
    {"aten::linalg_solve", "f64[2,2]{1 1 1 1} f64[2]{1 1}",
     "!torch.linalg.solve: The solver failed because the input matrix is singular."},
    {"aten::linalg_solve", "f32[2,2]{1 1 1 1} f32[3,3]{1 1 1 1 1 1 1 1 1}",
     "!linalg.solve: Incompatible shapes of A and B for the equation AX = B (2x2 and 3x3)"},
    {"aten::linalg_solve", "f32[2,2]{1 1 1 1} f64[2]{1 1}",
     "!linalg.solve: Expected A and B to have the same dtype, but found A of type Float and B of "
     "type Double instead"},
    {"aten::linalg_lu_factor", "f32[2,2]{0 0 0 0}",
     "!torch.linalg.lu_factor: U[1,1] is zero and using it on lu_solve would result in a division"
     " by zero. If you still want to perform the factorization, consider calling linalg.lu(A, "
     "pivot) or linalg.lu_factor_ex(A, pivot)"},
    {"aten::linalg_lu_factor", "f32[2,2]{1 1 1 1} false",
     "!linalg.lu_factor: LU without pivoting is not implemented on the CPU"},
    {"aten::lu_unpack", "f32[2,2]{1 1 1 1} f32[2]{1 1}",
     "!torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype."},
    {"aten::lu_unpack", "f32[3,3]{1 1 1 1 1 1 1 1 1} i32[3]{1 2 5}",
     "!pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly "
     "pass the result of lu_factor?"},
    {"aten::linalg_lu_solve", "f32[3,3]{1 1 1 1 1 1 1 1 1} i64[3]{1 2 3} f32[3,2]{1 1 1 1 1 1}",
     "!linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32"},
    {"aten::linalg_tensorinv",
     "f32[2,3,5]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} 2",
     "!Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]),"
     " but got 5 != 6"},
    {"aten::linalg_tensorsolve",
     "f32[2,3,6]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} "
     "f32[2,4]{1 1 1 1 1 1 1 1}",
     "!Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
     "prod(self.shape[:other.ndim]), but got 6 != 8"},
};

static const opcase factors[] = {
    {"aten::linalg_cholesky", "f64[3,3]{4 1 2 1 3 0.5 2 0.5 5} false",
     "f64[3,3]{2 0 0 0.5 1.65831 0 1 0 2}"},
    {"aten::cholesky", "f64[2,3,3]{4 1 2 1 3 0.5 2 0.5 5 4 1 2 1 3 0.5 2 0.5 5} false",
     "f64[2,3,3]{2 0 0 0.5 1.65831 0 1 0 2 2 0 0 0.5 1.65831 0 1 0 2}"},
    {"aten::cholesky_inverse", "f64[3,3]{4 1 2 1 3 0.5 2 0.5 5} false",
     "f64[3,3]{0.0778472 -0.0247222 -0.0183333 -0.0247222 0.112222 -0.00666667 -0.0183333 "
     "-0.00666667 0.04}"},
    {"aten::cholesky_solve", "f64[3,1]{-0.25 1.375 -2.375} f64[3,3]{4 1 2 1 3 0.5 2 0.5 5} false",
     "f64[3,1]{-0.00991319 0.176319 -0.0995833}"},
    {"aten::triangular_solve",
     "f64[3,1]{3.125 1.25 0.625} f64[3,3]{4 1 2 1 3 0.5 2 0.5 5} false false false",
     "f64[3,1]{0.78125 0.15625 -0.203125} f64[3,3]{4 1 2 1 3 0.5 2 0.5 5}"},
    {"aten::triangular_solve",
     "f64[3,1]{0.875 -0.625 -0.875} f64[3,3]{4 1 2 1 3 0.5 2 0.5 5} false true false",
     "f64[3,1]{0.351042 -0.179167 -0.175} f64[3,3]{4 1 2 1 3 0.5 2 0.5 5}"},
    {"aten::linalg_cholesky", "f64[3,3]{4 1 2 1 3 0.5 2 0.5 5} true",
     "f64[3,3]{2 0.5 1 0 1.65831 0 0 0 2}"},
    {"aten::cholesky", "f64[2,3,3]{4 1 2 1 3 0.5 2 0.5 5 4 1 2 1 3 0.5 2 0.5 5} true",
     "f64[2,3,3]{2 0.5 1 0 1.65831 0 0 0 2 2 0.5 1 0 1.65831 0 0 0 2}"},
    {"aten::cholesky_inverse", "f64[3,3]{4 1 2 1 3 0.5 2 0.5 5} true",
     "f64[3,3]{0.0778472 -0.0247222 -0.0183333 -0.0247222 0.112222 -0.00666667 -0.0183333 "
     "-0.00666667 0.04}"},
    {"aten::cholesky_solve", "f64[3,1]{1.125 -1 -0.625} f64[3,3]{4 1 2 1 3 0.5 2 0.5 5} true",
     "f64[3,1]{0.123759 -0.135868 -0.0389583}"},
    {"aten::triangular_solve",
     "f64[3,1]{0.875 1 2.25} f64[3,3]{4 1 2 1 3 0.5 2 0.5 5} true false false",
     "f64[3,1]{-0.0708333 0.258333 0.45} f64[3,3]{4 1 2 1 3 0.5 2 0.5 5}"},
    {"aten::triangular_solve",
     "f64[3,1]{-0.625 0.625 -0.75} f64[3,3]{4 1 2 1 3 0.5 2 0.5 5} true true false",
     "f64[3,1]{-0.15625 0.260417 -0.113542} f64[3,3]{4 1 2 1 3 0.5 2 0.5 5}"},
    {"aten::linalg_cholesky", "f64[3,3]{-4 -1 -2 -1 -3 -0.5 -2 -0.5 -5}",
     "!linalg.cholesky: The factorization could not be completed because the input is not "
     "positive-definite (the leading minor of order 1 is not positive-definite)."},
    {"aten::linalg_cholesky_ex", "f64[3,3]{-4 -1 -2 -1 -3 -0.5 -2 -0.5 -5} false true",
     "!linalg.cholesky_ex: The factorization could not be completed because the input is not "
     "positive-definite (the leading minor of order 1 is not positive-definite)."},
    {"aten::linalg_qr", "f64[3,2]{0 2 3 1 1 1} 'reduced'",
     "f64[3,2]{0 0.953463 -0.948683 -0.0953463 -0.316228 0.286039} f64[2,2]{-3.16228 -1.26491 0 "
     "2.09762}"},
    {"aten::linalg_qr", "f64[3,2]{0 2 3 1 1 1} 'complete'",
     "f64[3,3]{0 0.953463 -0.301511 -0.948683 -0.0953463 -0.301511 -0.316228 0.286039 0.904534} "
     "f64[3,2]{-3.16228 -1.26491 0 2.09762 0 0}"},
    {"aten::linalg_qr", "f64[3,2]{0 2 3 1 1 1} 'r'",
     "f64[0]{} f64[2,2]{-3.16228 -1.26491 0 2.09762}"},
    {"aten::linalg_qr", "f64[3,3]{0 2 1 3 1 -1 1 1 4} 'x'",
     "!qr received unrecognized mode 'x' but expected one of 'reduced' (default), 'r', or "
     "'complete'"},
    {"aten::qr", "f64[2,3]{0 2 1 3 1 -1} true", "f64[2,2]{0 -1 -1 0} f64[2,3]{-3 -1 1 0 -2 -1}"},
    {"aten::geqrf", "f64[3,3]{0 2 1 3 1 -1 1 1 4}",
     "f64[3,3]{-3.16228 -1.26491 -0.316228 0.948683 2.09762 2.19296 0.316228 0.00773675 3.61814} "
     "f64[3]{1 1.99988 0}"},
    {"aten::orgqr", "f64[3,2]{0 2 3 1 1 1} f64[2]{0.5 0.25}",
     "f64[3,2]{0.5 -1 -1.5 -2.25 -0.5 -1.25}"},
    {"aten::linalg_householder_product", "f32[2,3]{1 1 1 1 1 1} f32[2]{1 1}",
     "!torch.linalg.householder_product: input.shape[-2] must be greater than or equal to "
     "input.shape[-1]"},
    {"aten::ormqr", "f64[3,2]{0 2 3 1 1 1} f64[2]{0.5 0.25} f64[3,1]{-1 1.75 -0.125} true true",
     "f64[3,1]{-3.0625 -2.78125 -0.53125}"},
    {"aten::linalg_ldl_factor", "f64[3,3]{4 1 2 1 3 0.5 2 0.5 5}",
     "f64[3,3]{4 0 0 0.25 2.75 0 0.5 0 4} i32[3]{1 2 3}"},
    {"aten::linalg_ldl_solve", "f64[2,2]^{4 0 0.5 1} i32[2]{1 2} f64[2,1]{-2.375 -0.25}",
     "f64[2,1]{-1.0625 0.9375}"},
    {"aten::linalg_ldl_factor_ex", "f64[3,3]{4 1 2 1 3 0.5 2 0.5 5}",
     "f64[3,3]{4 0 0 0.25 2.75 0 0.5 0 4} i32[3]{1 2 3} i32[]{0}"},
    {"aten::triangular_solve",
     "f64[3,1]{-3.625 -0.375 -1.5} f64[3,2]{0.875 -1.625 1.25 0.375 0.875 0.75}",
     "!A must be batches of square matrices, but they are 3 by 2 matrices"},
    {"aten::triangular_solve", "f64[3]{0.5 -0.125 -0.625} f64[3,3]{4 1 2 1 3 0.5 2 0.5 5}",
     "!torch.triangular_solve: Expected b to have at least 2 dimensions, but it has 1 dimensions "
     "instead"},
    {"aten::linalg_matrix_power", "f32[2,2]{0 1 -2 -3} 5", "f32[2,2]{30 31 -62 -63}"},
    {"aten::linalg_matrix_power", "i64[2,2]{-3 3 1 2} 3", "i64[2,2]{-39 30 10 11}"},
    {"aten::matrix_power", "f64[3,3]{0 2 1 3 1 -1 1 1 4} -2",
     "f64[3,3]{0.190972 -0.0590278 -0.03125 -0.0798611 0.170139 0.03125 -0.0486111 -0.0486111 "
     "0.0625}"},
    {"aten::linalg_matrix_power", "f32[2,2,2]{2 -2 -1 -2 2 -3 0 2} 0",
     "f32[2,2,2]{1 0 0 1 1 0 0 1}"},
    {"aten::linalg_matrix_power", "f32[2,3]{-1 -2 2 -2 -1 2} 2",
     "!linalg.matrix_power: A must be batches of square matrices, but they are 2 by 3 matrices"},
    {"aten::_compute_linear_combination",
     "f32[3,2,2]{0 1 2 3 4 5 6 7 8 9 10 11} f32[2,3]{1 0 2 0 1 -1}",
     "f32[2,2,2]{16 19 22 25 -4 -4 -4 -4}"},
    {"aten::_compute_linear_combination", "i64[3]{0 1 2} i64[2,3]{1 0 2 0 1 -1}", "i64[2]{4 -1}"},
    {"aten::_compute_linear_combination.out",
     "f32[3,2,2]{0 1 2 3 4 5 6 7 8 9 10 11} f32[2,3]{1 0 2 0 1 -1} f32[2,2,2]{1 1 1 1 1 1 1 1}",
     "f32[2,2,2]{17 20 23 26 -3 -3 -3 -3}"},
    {"aten::_compute_linear_combination", "f32[3,2]{0 1 2 3 4 5} f32[2,2]{1 0 2 0}",
     "!_compute_linear_combination: expected a tensor with elements, and a matrix of its dtype "
     "with "
     "as many columns as it has rows"},
    {"aten::matrix_exp", "f64[3,3]{0 0.5 0.25 0.75 0.25 -0.25 0.25 0.25 1}",
     "f64[3,3]{1.26058 0.654052 0.351959 0.856417 1.46295 -0.351959 0.601282 0.601282 2.71828}"},
    {"aten::matrix_exp", "f64[3,3]{0 6 3 9 3 -3 3 3 12}",
     "f64[3,3]{28746.4 28746.4 27125.8 -20643.3 -20643.3 -27125.8 154652 154652 162755}"},
    {"aten::matrix_exp", "f32[2,2]{0 0 0 0}", "f32[2,2]{1 0 0 1}"},
    {"aten::matrix_exp", "i64[2,2]{1 1 1 1}",
     "!matrix_exp: Expected a floating point or complex tensor as input. Got Long"},
    {"aten::linalg_vander", "f32[3]{3 -3 3} 4", "f32[3,4]{1 3 9 27 1 -3 9 -27 1 3 9 27}"},
    {"aten::linalg_vander", "i64[2]{2 3} None", "i64[2,2]{1 2 1 3}"},
    {"aten::linalg_vander", "f32[3]{-1 -2 0} 1", "!N must be greater than 1."},
    {"aten::linalg_vander", "f32[]{-2} 3", "f32[1,3]{1 -2 4}"},
};

static const opcase spectra[] = {
    {"aten::linalg_svdvals", "f64[3,2]{3 1 1 2 0 1}", "f64[2]{3.65857 1.61705}"},
    {"aten::linalg_svd", "f64[3,2]{3 1 1 2 0 1} true",
     "f64[3,3]{-0.832245 0.528012 0.169031 -0.53281 -0.677474 -0.507093 -0.153237 -0.512087 "
     "0.845154} f64[2]{3.65857 1.61705} f64[2,2]{-0.828067 -0.560629 0.560629 -0.828067}"},
    {"aten::linalg_svd", "f64[3,2]{3 1 1 2 0 1} false",
     "f64[3,2]{-0.832245 0.528012 -0.53281 -0.677474 -0.153237 -0.512087} f64[2]{3.65857 1.61705}"
     " f64[2,2]{-0.828067 -0.560629 0.560629 -0.828067}"},
    {"aten::svd", "f64[3,2]{3 1 1 2 0 1} true true",
     "f64[3,2]{-0.832245 0.528012 -0.53281 -0.677474 -0.153237 -0.512087} f64[2]{3.65857 1.61705}"
     " f64[2,2]{-0.828067 0.560629 -0.560629 -0.828067}"},
    {"aten::svd", "f64[3,2]{3 1 1 2 0 1} true false",
     "f64[3,3]{0 0 0 0 0 0 0 0 0} f64[2]{3.65857 1.61705} f64[2,2]{0 0 0 0}"},
    {"aten::pinverse", "f64[3,2]{3 1 1 2 0 1}",
     "f64[2,3]{0.371429 -0.114286 -0.142857 -0.142857 0.428571 0.285714}"},
    {"aten::linalg_cond", "f64[3,2]{3 1 1 2 0 1} None", "f64[]{2.26251}"},
    {"aten::linalg_matrix_rank.atol_rtol_float", "f64[3,2]{3 1 1 2 0 1} None None", "i64[]{2}"},
    {"aten::linalg_svdvals", "f64[2,3]{3 1 0 1 2 1}", "f64[2]{3.65857 1.61705}"},
    {"aten::linalg_svd", "f64[2,3]{3 1 0 1 2 1} true",
     "f64[2,2]{-0.828067 -0.560629 -0.560629 0.828067} f64[2]{3.65857 1.61705} f64[3,3]{-0.832245"
     " -0.53281 -0.153237 -0.528012 0.677474 0.512087 0.169031 -0.507093 0.845154}"},
    {"aten::linalg_svd", "f64[2,3]{3 1 0 1 2 1} false",
     "f64[2,2]{-0.828067 -0.560629 -0.560629 0.828067} f64[2]{3.65857 1.61705} f64[2,3]{-0.832245"
     " -0.53281 -0.153237 -0.528012 0.677474 0.512087}"},
    {"aten::svd", "f64[2,3]{3 1 0 1 2 1} true true",
     "f64[2,2]{-0.828067 -0.560629 -0.560629 0.828067} f64[2]{3.65857 1.61705} f64[3,2]{-0.832245"
     " -0.528012 -0.53281 0.677474 -0.153237 0.512087}"},
    {"aten::svd", "f64[2,3]{3 1 0 1 2 1} true false",
     "f64[2,2]{0 0 0 0} f64[2]{3.65857 1.61705} f64[3,3]{0 0 0 0 0 0 0 0 0}"},
    {"aten::pinverse", "f64[2,3]{3 1 0 1 2 1}",
     "f64[3,2]{0.371429 -0.142857 -0.114286 0.428571 -0.142857 0.285714}"},
    {"aten::linalg_cond", "f64[2,3]{3 1 0 1 2 1} None", "f64[]{2.26251}"},
    {"aten::linalg_matrix_rank.atol_rtol_float", "f64[2,3]{3 1 0 1 2 1} None None", "i64[]{2}"},
    {"aten::linalg_svdvals", "f64[3,3]{0 2 1 3 1 -1 1 1 4}", "f64[3]{4.51222 3.32994 1.59729}"},
    {"aten::linalg_svd", "f64[3,3]{0 2 1 3 1 -1 1 1 4} true",
     "f64[3,3]{-0.365776 -0.0879153 -0.926541 -0.039078 -0.9932 0.109667 -0.929882 0.076321 "
     "0.359853} f64[3]{4.51222 3.32994 1.59729} f64[3,3]{-0.232062 -0.376868 -0.896726 -0.87187 "
     "-0.328147 0.36354 0.431264 -0.866193 0.25243}"},
    {"aten::linalg_svd", "f64[3,3]{0 2 1 3 1 -1 1 1 4} false",
     "f64[3,3]{-0.365776 -0.0879153 -0.926541 -0.039078 -0.9932 0.109667 -0.929882 0.076321 "
     "0.359853} f64[3]{4.51222 3.32994 1.59729} f64[3,3]{-0.232062 -0.376868 -0.896726 -0.87187 "
     "-0.328147 0.36354 0.431264 -0.866193 0.25243}"},
    {"aten::svd", "f64[3,3]{0 2 1 3 1 -1 1 1 4} true true",
     "f64[3,3]{-0.365776 -0.0879153 -0.926541 -0.039078 -0.9932 0.109667 -0.929882 0.076321 "
     "0.359853} f64[3]{4.51222 3.32994 1.59729} f64[3,3]{-0.232062 -0.87187 0.431264 -0.376868 "
     "-0.328147 -0.866193 -0.896726 0.36354 0.25243}"},
    {"aten::svd", "f64[3,3]{0 2 1 3 1 -1 1 1 4} true false",
     "f64[3,3]{0 0 0 0 0 0 0 0 0} f64[3]{4.51222 3.32994 1.59729} f64[3,3]{0 0 0 0 0 0 0 0 0}"},
    {"aten::pinverse", "f64[3,3]{0 2 1 3 1 -1 1 1 4}",
     "f64[3,3]{-0.208333 0.291667 0.125 0.541667 0.0416667 -0.125 -0.0833333 -0.0833333 0.25}"},
    {"aten::linalg_cond", "f64[3,3]{0 2 1 3 1 -1 1 1 4} None", "f64[]{2.82492}"},
    {"aten::linalg_matrix_rank.atol_rtol_float", "f64[3,3]{0 2 1 3 1 -1 1 1 4} None None",
     "i64[]{3}"},
    {"aten::linalg_svd", "f32[2,0]{} true", "f32[2,2]{1 0 0 1} f32[0]{} f32[0,0]{}"},
    {"aten::linalg_svdvals", "f32[2,2]{nan nan nan nan}",
     "!linalg.svd: The algorithm failed to converge because the input matrix contained non-finite"
     " values."},
    {"aten::linalg_svd", "f32[2]{1 1} true",
     "!linalg.svd: The input tensor A must have at least 2 dimensions."},
    {"aten::linalg_eigh", "f64[3,3]{4 1 2 1 3 0.5 2 0.5 5} 'L'",
     "f64[3]{2.09652 3.07222 6.83125} f64[3,3]{-0.716743 -0.325767 -0.616567 0.574873 -0.776502 "
     "-0.258004 0.394716 0.53937 -0.743827}"},
    {"aten::linalg_eigvalsh", "f64[3,3]{0 2 1 3 1 -1 1 1 4} 'L'",
     "f64[3]{-2.54357 2.34393 5.19964}"},
    {"aten::linalg_eigh", "f64[3,3]{4 1 2 1 3 0.5 2 0.5 5} 'U'",
     "f64[3]{2.09652 3.07222 6.83125} f64[3,3]{0.716743 0.325767 0.616567 -0.574873 0.776502 "
     "0.258004 -0.394716 -0.53937 0.743827}"},
    {"aten::linalg_eigvalsh", "f64[3,3]{0 2 1 3 1 -1 1 1 4} 'U'",
     "f64[3]{-1.89608 2.54611 4.34997}"},
    {"aten::linalg_eigh", "f64[3,3]{4 1 2 1 3 0.5 2 0.5 5} 'X'",
     "!Expected UPLO argument to be 'L' or 'U', but got X"},
    {"aten::symeig", "f64[3,3]{4 1 2 1 3 0.5 2 0.5 5} true true",
     "f64[3]{2.09652 3.07222 6.83125} f64[3,3]{0.716743 0.325767 0.616567 -0.574873 0.776502 "
     "0.258004 -0.394716 -0.53937 0.743827}"},
    {"aten::symeig", "f64[3,3]{4 1 2 1 3 0.5 2 0.5 5} false true",
     "f64[3]{2.09652 3.07222 6.83125} f64[0]{}"},
    {"aten::linalg_eigh", "f32[2,3]{1 1 1 1 1 1} 'L'",
     "!linalg.eigh: A must be batches of square matrices, but they are 2 by 3 matrices"},
    {"aten::linalg_matrix_rank", "f64[3,2]{3 1 1 2 0 1} 2.0 false", "i64[]{1}"},
    {"aten::linalg_matrix_rank.tol_tensor",
     "f64[2,3,3]{0 2 1 3 1 -1 1 1 4 4 1 2 1 3 0.5 2 0.5 5} f64[2]{1 4} false", "i64[2]{3 1}"},
    {"aten::linalg_pinv", "f64[3,2]{3 1 1 2 0 1} 0.9 false",
     "f64[2,3]{0.188367 0.120594 0.0346831 0.127531 0.0816462 0.0234816}"},
    {"aten::linalg_pinv.atol_rtol_float", "f64[3,3]{4 1 2 1 3 0.5 2 0.5 5} 3.0 None true",
     "f64[3,3]{0.0901925 0.105624 0.00994259 0.105624 0.206005 -0.108232 0.00994259 -0.108232 "
     "0.175686}"},
    {"aten::linalg_pinv", "f32[3]{1 1 1} 0.1 false",
     "!linalg.pinv(Float{[3]}): expected a tensor with 2 or more dimensions of float, double, "
     "cfloat or cdouble types"},
    {"aten::linalg_cond", "f64[3,3]{0 2 1 3 1 -1 1 1 4} 1", "f64[]{5}"},
    {"aten::linalg_cond", "f64[3,3]{0 2 1 3 1 -1 1 1 4} -1", "f64[]{1.66667}"},
    {"aten::linalg_cond", "f64[3,3]{0 2 1 3 1 -1 1 1 4} 2", "f64[]{2.82492}"},
    {"aten::linalg_cond", "f64[3,3]{0 2 1 3 1 -1 1 1 4} -2", "f64[]{0.353992}"},
    {"aten::linalg_cond.p_str", "f64[3,3]{0 2 1 3 1 -1 1 1 4} 'fro'", "f64[]{4.25}"},
    {"aten::linalg_cond", "f64[2,2]{1 1 1 1} 1", "f64[]{inf}"},
    {"aten::linalg_cond", "f64[3,3]{0 2 1 3 1 -1 1 1 4} 3",
     "!linalg.cond got an invalid norm type: 3"},
    {"aten::linalg_lstsq",
     "f64[3,2]{3 1 1 2 0 1} f64[3,2]{-0.125 -0.625 1.25 0 1.375 -0.25} None 'gels'",
     "f64[2,2]{-0.385714 -0.196429 0.946429 0.0178571} f64[2]{0.257143 0.100446} i64[0]{} "
     "f64[0]{}"},
    {"aten::linalg_lstsq",
     "f64[3,2]{3 1 1 2 0 1} f64[3,2]{3.5 2.5 -2.75 -2.625 -1 1.625} None 'gelsy'",
     "f64[2,2]{1.75714 0.996429 -1.96429 -1.01786} f64[0]{} i64[]{2} f64[0]{}"},
    {"aten::linalg_lstsq",
     "f64[3,2]{3 1 1 2 0 1} f64[3,2]{-0 1.125 -0.25 -1.625 1 -2.125} None 'gelsd'",
     "f64[2,2]{-0.114286 0.907143 0.178571 -1.46429} f64[2]{0.944643 0.611161} i64[]{2} "
     "f64[2]{3.65857 1.61705}"},
    {"aten::linalg_lstsq",
     "f64[3,2]{3 1 1 2 0 1} f64[3,2]{0.125 1.125 -1.625 2.25 -0.75 -1.125} None 'gelss'",
     "f64[2,2]{0.339286 0.321429 -0.928571 0.482143} f64[2]{0.0446429 3.61607} i64[]{2} "
     "f64[2]{3.65857 1.61705}"},
    {"aten::linalg_lstsq", "f64[3,2]{3 1 1 2 0 1} f64[3]{-0.25 -0.625 -1} None None",
     "f64[2]{0.121429 -0.517857} f64[0]{} i64[]{2} f64[0]{}"},
    {"aten::linalg_lstsq", "f64[3,2]{3 1 1 2 0 1} f64[2,2]{0.375 1.625 -1.625 -0.5} None None",
     "!torch.linalg.lstsq: input.size(-2) should match other.size(-2)"},
    {"aten::linalg_lstsq",
     "f64[3,2]{3 1 1 2 0 1} f64[3,2]{0.375 -0.5 0.5 0.75 0.625 -0.125} None 'x'",
     "!torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"},
};

static const opcase complex_matrices[] = {
    {"aten::linalg_cholesky", "c128[2,2]{4:0 1:1 1:-1 3:0} false",
     "c128[2,2]{2:0 0:0 0.5:-0.5 1.5811:0}"},
    {"aten::linalg_cholesky", "c64[2,2]{4:0 1:1 1:-1 3:0} false",
     "c64[2,2]{2:0 0:0 0.5:-0.5 1.5811:0}"},
    {"aten::linalg_cholesky", "c128[2,2]{4:0 1:1 1:-1 3:0} true",
     "c128[2,2]{2:0 0.5:0.5 0:0 1.5811:0}"},
    {"aten::cholesky", "c128[2,2,2]{4:0 1:1 1:-1 3:0 4:0 1:-1 1:1 3:0} true",
     "c128[2,2,2]{2:0 0.5:0.5 0:0 1.5811:0 2:0 0.5:-0.5 0:0 1.5811:0}"},
    {"aten::cholesky_inverse", "c128[2,2]{2:0 0:0 0.5:-0.5 1.5:0} false",
     "c128[2,2]{0.30556:0 -0.11111:-0.11111 -0.11111:0.11111 0.44444:0}"},
    {"aten::cholesky_inverse", "c128[2,2]{2:0 0.5:0.5 0:0 1.5:0} true",
     "c128[2,2]{0.30556:0 -0.11111:-0.11111 -0.11111:0.11111 0.44444:0}"},
    {"aten::cholesky_inverse", "c64[2,2]{2:0 0:0 0.5:-0.5 1.5:0} false",
     "c64[2,2]{0.30556:0 -0.11111:-0.11111 -0.11111:0.11111 0.44444:0}"},
    {"aten::cholesky_solve", "c128[2,2]{1:0 0:2 1:1 -1:0} c128[2,2]{2:0 0:0 0.5:-0.5 1.5:0} false",
     "c128[2,2]{0.30556:-0.22222 0.11111:0.72222 0.33333:0.55556 -0.66667:-0.22222}"},
    {"aten::cholesky_solve", "c128[2,2]{1:0 0:2 1:1 -1:0} c128[2,2]{2:0 0.5:0.5 0:0 1.5:0} true",
     "c128[2,2]{0.30556:-0.22222 0.11111:0.72222 0.33333:0.55556 -0.66667:-0.22222}"},
    {"aten::linalg_lu", "c128[3,2]{1:2 2:-1 0:1 3:0 0.5:0 -1:1} true",
     "c128[3,3]{1:0 0:0 0:0 0:0 0:0 1:0 0:0 1:0 0:0} c128[3,2]{1:0 0:0 0.1:-0.2 1:0 0.4:0.2 "
     "-0.61538:-0.92308} c128[2,2]{1:2 2:-1 0:0 -1:1.5}"},
    {"aten::linalg_lu", "c64[2,3]{1:2 0:1 0.5:0 2:-1 3:0 -1:1} true",
     "c64[2,2]{1:0 0:0 0:0 1:0} c64[2,2]{1:0 0:0 0:-1 1:0} c64[2,3]{1:2 0:1 0.5:0 0:0 2:0 "
     "-1:1.5}"},
    {"aten::lu_unpack", "c128[2,2]{1:2 2:-1 0.4:0.2 2:0} i32[2]{2 2} true true",
     "c128[2,2]{0:0 1:0 1:0 0:0} c128[2,2]{1:0 0:0 0.4:0.2 1:0} c128[2,2]{1:2 2:-1 0:0 2:0}"},
    {"aten::linalg_lu_solve",
     "c128[2,2]{1:2 2:-1 0.4:0.2 2:0} i32[2]{2 2} c128[2,2]{1:0 0:2 1:1 -1:0} true true",
     "c128[2,2]{0.5:0 0.5:0 0:0.5 -1:0.5}"},
    {"aten::linalg_lu_solve",
     "c128[2,2]{1:2 2:-1 0.4:0.2 2:0} i32[2]{2 2} c128[2,2]{1:0 0:2 1:1 -1:0} true false",
     "c128[2,2]{0.9:0.2 -1.3:0.6 0.4:-0.3 0.2:1.1}"},
    {"aten::linalg_lu_solve",
     "c128[2,2]{1:2 2:-1 0.4:0.2 2:0} i32[2]{2 2} c128[2,2]{1:0 0:2 1:1 -1:0} false true",
     "c128[2,2]{-1.2:0.1 0.3:-0.4 0.2:-1.1 0.7:0.4}"},
    {"aten::linalg_lu_solve",
     "c128[2,2]{1:2 2:-1 0.4:0.2 2:0} i32[2]{2 2} c128[2,2]{1:0 0:2 1:1 -1:0} false false",
     "c128[2,2]{0:1.5 0.5:-1 -1:0.5 1.1:-0.2}"},
    {"aten::lu_solve", "c128[2,2]{1:0 0:2 1:1 -1:0} c128[2,2]{1:2 2:-1 0.4:0.2 2:0} i32[2]{2 2}",
     "c128[2,2]{0.9:0.2 -1.3:0.6 0.4:-0.3 0.2:1.1}"},
    {"aten::linalg_qr", "c128[3,2]{1:2 2:-1 0:1 3:0 0.5:0 -1:1} 'reduced'",
     "c128[3,2]{-0.4:-0.8 0.1213:-0.13646 0:-0.4 -0.68229:-0.030324 -0.2:0 0.36389:-0.60648} "
     "c128[2,2]{-2.5:0 0.2:3 0:0 -2.6382:0}"},
    {"aten::linalg_qr", "c128[2,3]{1:2 0:1 0.5:0 2:-1 3:0 -1:1} 'complete'",
     "c128[2,2]{-0.31623:-0.63246 0:0.70711 -0.63246:0.31623 -0.70711:0} c128[2,3]{-3.1623:0 "
     "-2.5298:-1.2649 0.79057:0 0:0 -1.4142:0 0.70711:-1.0607}"},
    {"aten::qr", "c64[2,3]{1:2 0:1 0.5:0 2:-1 3:0 -1:1} true",
     "c64[2,2]{-0.31623:-0.63246 0:0.70711 -0.63246:0.31623 -0.70711:0} c64[2,3]{-3.1623:0 "
     "-2.5298:-1.2649 0.79057:0 0:0 -1.4142:0 0.70711:-1.0607}"},
    {"aten::geqrf", "c128[3,2]{1:2 2:-1 0:1 3:0 0.5:0 -1:1}",
     "c128[3,2]{-2.5:0 0.2:3 0.12308:0.21538 -2.6382:0 0.10769:-0.061538 -0.20017:0.34302} "
     "c128[2]{1.4:0.8 1.7266:0.039654}"},
    {"aten::linalg_householder_product",
     "c128[3,2]{1:0 2:0 0:3 1:0 1:0 1:-1} c128[2]{0.5:0.25 0.25:0}",
     "c128[3,2]{0.5:-0.25 -0.375:1.0625 0.75:-1.5 -2.4375:-1.125 -0.5:-0.25 -0.625:1.3125}"},
    {"aten::ormqr",
     "c128[3,2]{1:0 2:0 0:3 1:0 1:0 1:-1} c128[2]{0.5:0.25 0.25:0} c128[3,1]{1:0 1:1 2:0} true "
     "true",
     "c128[3,1]{-1.25:3 -5.1875:-5 3.3125:0.9375}"},
    {"aten::ormqr",
     "c128[3,2]{1:0 2:0 0:3 1:0 1:0 1:-1} c128[2]{0.5:0.25 0.25:0} c128[3,1]{1:0 1:1 2:0} true "
     "false",
     "c128[3,1]{-0.3125:-0.1875 0.8125:-3.6875 -0.8125:-0.1875}"},
    {"aten::ormqr",
     "c128[3,2]{1:0 2:0 0:3 1:0 1:0 1:-1} c128[2]{0.5:0.25 0.25:0} c128[1,3]{1:0 1:1 2:0} false "
     "true",
     "c128[1,3]{1.8125:-0.5625 -1.4375:-1.1875 1.8125:-1.0625}"},
    {"aten::ormqr",
     "c128[3,2]{1:0 2:0 0:3 1:0 1:0 1:-1} c128[2]{0.5:0.25 0.25:0} c128[1,3]{1:0 1:1 2:0} false "
     "false",
     "c128[1,3]{1.75:-1.5 -2.9375:0.125 1.9375:0.4375}"},
    {"aten::linalg_ldl_factor_ex", "c128[2,2]{4:0 1:1 1:1 3:0}",
     "c128[2,2]{4:0 0:0 0.25:0.25 3:-0.5} i32[2]{1 2} i32[]{0}"},
    {"aten::linalg_ldl_factor_ex", "c64[2,2]{4:0 1:1 1:1 3:0}",
     "c64[2,2]{4:0 0:0 0.25:0.25 3:-0.5} i32[2]{1 2} i32[]{0}"},
    {"aten::linalg_ldl_factor_ex", "c128[2,2]{4:0 1:1 1:-1 3:0} true false",
     "c128[2,2]{4:0 0:0 0.25:-0.25 2.5:0} i32[2]{1 2} i32[]{0}"},
    {"aten::linalg_ldl_solve",
     "c128[2,2]{4:0 0:0 0.25:-0.25 2.5:0} i32[2]{1 2} c128[2,2]{1:0 0:2 1:1 -1:0} true",
     "c128[2,2]{0.3:-0.2 0.1:0.7 0.3:0.5 -0.6:-0.2}"},
    {"aten::linalg_ldl_solve",
     "c128[2,2]{4:0 0:0 0.25:-0.25 2.5:0} i32[2]{1 2} c128[2,2]{1:0 0:2 1:1 -1:0} false",
     "c128[2,2]{0.05:-0.05 0.2:0.4 0.3:0.5 -0.6:-0.2}"},
    {"aten::linalg_solve_triangular",
     "c128[2,2]{1:1 2:0 0:0 2:-1} c128[2,2]{1:0 0:2 1:1 -1:0} true true false",
     "c128[2,2]{-0.3:-0.9 1.6:0.8 0.2:0.6 -0.4:-0.2}"},
    {"aten::linalg_solve_triangular",
     "c128[2,2]{1:1 2:0 0:0 2:-1} c128[2,2]{1:0 0:2 1:1 -1:0} true false false",
     "c128[2,2]{0.5:-0.5 -1:1 1:0 -1.2:-0.6}"},
    {"aten::linalg_solve_triangular",
     "c64[2,2]{1:1 0:0 2:0 2:-1} c64[2,2]{1:0 0:2 1:1 -1:0} false true true",
     "c64[2,2]{1:0 0:2 -1:1 -1:-4}"},
    {"aten::triangular_solve",
     "c128[2,2]{1:0 0:2 1:1 -1:0} c128[2,2]{1:1 2:0 0:0 2:-1} true true false",
     "c128[2,2]{0.5:-0.5 1:1 -0.4:0.8 -0.8:-1.4} c128[2,2]{1:1 2:0 0:0 2:-1}"},
    {"aten::triangular_solve",
     "c128[2,2]{1:0 0:2 1:1 -1:0} c128[2,2]{1:1 2:0 0:0 2:-1} true false false",
     "c128[2,2]{-0.3:-0.9 1.6:0.8 0.2:0.6 -0.4:-0.2} c128[2,2]{1:1 2:0 0:0 2:-1}"},
    {"aten::linalg_svdvals", "c128[3,2]{1:2 2:-1 0:1 3:0 0.5:0 -1:1}", "f64[2]{4.4815 1.4717}"},
    {"aten::linalg_svdvals", "c64[2,3]{1:2 0:1 0.5:0 2:-1 3:0 -1:1}", "f32[2]{4.4815 1.4717}"},
    {"aten::linalg_svdvals", "c128[0,2]{}", "f64[0]{}"},
    {"aten::linalg_svd", "c64[2,0]{} true", "c64[2,2]{1:0 0:0 0:0 1:0} f32[0]{} c64[0,0]{}"},
    {"aten::linalg_eigvalsh", "c128[2,2]{4:0 1:1 1:-1 3:0} 'L'", "f64[2]{2 5}"},
    {"aten::linalg_eigvalsh", "c64[2,2]{4:0 1:1 1:-1 3:0} 'U'", "f32[2]{2 5}"},
    {"aten::symeig", "c128[2,2]{4:0 1:1 1:-1 3:0} false true", "f64[2]{2 5} c128[0]{}"},
    {"aten::linalg_eigvals", "c128[2,2]{1:2 2:-1 0:0 3:0}", "c128[2]{1:2 3:0}"},
    {"aten::linalg_matrix_rank.atol_rtol_float",
     "c128[3,2]{1:2 2:-1 0:1 3:0 0.5:0 -1:1} None None false", "i64[]{2}"},
    {"aten::linalg_matrix_rank.atol_rtol_float", "c64[2,2]{1:0 0:1 0:-1 1:0} None None true",
     "i64[]{1}"},
    {"aten::pinverse", "c128[3,2]{1:2 2:-1 0:1 3:0 0.5:0 -1:1}",
     "c128[2,3]{0.21839:-0.37931 0.034483:0.14943 0.34483:-0.18391 -0.045977:-0.051724 "
     "0.25862:-0.011494 -0.13793:-0.22989}"},
    {"aten::pinverse", "c64[2,3]{1:2 0:1 0.5:0 2:-1 3:0 -1:1}",
     "c64[3,2]{0.21839:-0.37931 -0.045977:-0.051724 0.034483:0.14943 0.25862:-0.011494 "
     "0.34483:-0.18391 -0.13793:-0.22989}"},
    {"aten::linalg_pinv.atol_rtol_float", "c128[2,2]{1:0 0:1 0:-1 1:0} None None true",
     "c128[2,2]{0.25:0 0:0.25 0:-0.25 0.25:0}"},
    {"aten::linalg_cond", "c128[2,2]{1:2 2:-1 0:1 3:0} None", "f64[]{4.2361}"},
    {"aten::linalg_cond", "c128[2,2]{1:2 2:-1 0:1 3:0} -2", "f64[]{0.23607}"},
    {"aten::linalg_cond", "c128[2,2]{1:2 2:-1 0:1 3:0} 1", "f64[]{5.2361}"},
    {"aten::linalg_cond.p_str", "c128[2,2]{1:2 2:-1 0:1 3:0} 'fro'", "f64[]{4.4721}"},
    {"aten::linalg_cond.p_str", "c128[2,2]{1:2 2:-1 0:1 3:0} 'nuc'", "f64[]{6.4721}"},
    {"aten::linalg_lstsq",
     "c128[3,2]{1:2 2:-1 0:1 3:0 0.5:0 -1:1} c128[3,1]{1:0 1:1 2:0} None 'gels'",
     "c128[2,1]{0.7931:-0.56322 -0.051724:-0.26437} f64[1]{3.6149} i64[0]{} f64[0]{}"},
    {"aten::linalg_lstsq",
     "c128[3,2]{1:2 2:-1 0:1 3:0 0.5:0 -1:1} c128[3,1]{1:0 1:1 2:0} None 'gelsy'",
     "c128[2,1]{0.7931:-0.56322 -0.051724:-0.26437} f64[0]{} i64[]{2} f64[0]{}"},
    {"aten::linalg_lstsq",
     "c128[3,2]{1:2 2:-1 0:1 3:0 0.5:0 -1:1} c128[3,1]{1:0 1:1 2:0} None 'gelsd'",
     "c128[2,1]{0.7931:-0.56322 -0.051724:-0.26437} f64[1]{3.6149} i64[]{2} f64[2]{4.4815 "
     "1.4717}"},
    {"aten::linalg_lstsq",
     "c128[3,2]{1:2 2:-1 0:1 3:0 0.5:0 -1:1} c128[3,1]{1:0 1:1 2:0} None 'gelss'",
     "c128[2,1]{0.7931:-0.56322 -0.051724:-0.26437} f64[1]{3.6149} i64[]{2} f64[2]{4.4815 "
     "1.4717}"},
    {"aten::linalg_lstsq",
     "c64[2,3]{1:2 0:1 0.5:0 2:-1 3:0 -1:1} c64[2,2]{1:0 0:2 1:1 -1:0} None 'gelsd'",
     "c64[3,2]{0.22414:-0.47701 0.8046:0.48851 0.3046:0.39655 -0.55747:0.08046 0.43678:-0.55172 "
     "0.50575:0.91954} f32[0]{} i64[]{2} f32[2]{4.4815 1.4717}"},
    {"aten::matrix_exp", "c128[2,2]{1:2 2:-1 0:1 3:0}",
     "c128[2,2]{-5.8383:6.9791 16.691:9.9223 -7.307:4.6918 18.159:12.21}"},
    {"aten::matrix_exp", "c64[2,2]{0.25:0.5 0.5:-0.25 0:0.25 0.75:0}",
     "c64[2,2]{1.1411:0.72121 0.91012:-0.19746 -0.10304:0.40354 2.1542:0.12021}"},
    {"aten::matrix_exp", "c128[0,0]{}", "c128[0,0]{}"},
    {"aten::linalg_vander", "c128[2]{0:1 2:-1} 3", "c128[2,3]{1:0 0:1 -1:0 1:0 2:-1 3:-4}"},
    {"aten::logdet", "c128[2,2,2]{1:2 2:-1 0:1 3:0 4:0 1:1 1:-1 3:0}",
     "c128[2]{1.4979:1.1071 2.3026:0}"},
    {"aten::linalg_matrix_norm.str_ord", "c128[3,2]{1:2 2:-1 0:1 3:0 0.5:0 -1:1} 'nuc'",
     "f64[]{5.9532}"},
    {"aten::linalg_matrix_norm.str_ord",
     "c64[2,2,3]{1:2 0:1 0.5:0 2:-1 3:0 -1:1 2:4 0:2 1:0 4:-2 6:0 -2:2} 'nuc'",
     "f32[2]{5.9532 11.906}"},
    {"aten::linalg_matrix_norm", "c128[3,2]{1:2 2:-1 0:1 3:0 0.5:0 -1:1} 2", "f64[]{4.4815}"},
    {"aten::linalg_matrix_norm", "c128[3,2]{1:2 2:-1 0:1 3:0 0.5:0 -1:1} -2", "f64[]{1.4717}"},
    {"aten::nuclear_norm", "c128[2,3]{1:2 0:1 0.5:0 2:-1 3:0 -1:1}", "f64[]{5.9532}"},
    {"aten::linalg_vecdot", "c128[2,2]{1:0 0:2 1:1 -1:0} c128[2,2]{1:2 2:-1 0:1 3:0} -1",
     "c128[2]{-1:-2 -2:1}"},
};

static void test_lu_and_kin(void **state) {
    (void)state;
    opcase_run(lu_and_kin, sizeof lu_and_kin / sizeof lu_and_kin[0]);
}

static void test_factors(void **state) {
    (void)state;
    opcase_run(factors, sizeof factors / sizeof factors[0]);
}

static void test_spectra(void **state) {
    (void)state;
    opcase_run(spectra, sizeof spectra / sizeof spectra[0]);
}

static void test_complex_matrices(void **state) {
    (void)state;
    opcase_digits = 5;
    opcase_tiny = 1e-5;
    opcase_run(complex_matrices, sizeof complex_matrices / sizeof complex_matrices[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lu_and_kin),
        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_spectra),
        cmocka_unit_test(test_complex_matrices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
