/* SPDX-License-Identifier: Apache-2.0 */
/* group_cases.h - rows of test_group.c: program, arguments, other arguments for the same plan, arguments that must not fit it. */

/* ---- pointwise: shapes ---- */
{"y = mul.Tensor(a, a); z = mul.Tensor(y, a); return z", "f32[5]{1 2 3 -4 nan}", "f32[0]{}", "f64[2]{1 2}"},
{"y = mul.Tensor(a, b); z = add.Tensor(y, c, 2); return z", "f32[2,3]{1 2 3 4 5 6} f32[2,3]{1 2 3 4 5 6} f32[3]{10 20 30}",
 "f32[1,2]{1 2} f32[1,2]{3 4} f32[2]{5 6}", "f32[1,2]{1 2} f32[2,2]{3 4 5 6} f32[2]{5 6}"},
{"y = mul.Tensor(a, b); z = exp(y); return y, z", "f32[]{2} f32[3]{1 2 3}"},
{"y = add.Tensor(a, b); return y", "f32[2,1]{1 2} f32[1,3]{1 2 3}", "f32[3,1]{1 2 3} f32[1,1]{1}"},
{"y = add.Tensor(a, b); return y", "f32[2,3]{1 2 3 4 5 6} f32[2,3]^{1 2 3 4 5 6}"},
{"y = add.Tensor(a, b); return y", "f32[2,2,3]{1 2 3 4 5 6 7 8 9 10 11 12} f32[2,1,3]{1 2 3 4 5 6}"},
{"y = sub.Tensor(a, b, c); z = mul.Scalar(y, 0.5); return z", "i64[3]{1 2 3} i64[3]{5 5 5} 3"},
{"y = mul.Scalar(a, b); z = sqrt(y); return z", "f32[4]{1 4 9 -1} 4.5", "f32[2]{1 2} 1.5", "f32[2]{1 2} 1"},
