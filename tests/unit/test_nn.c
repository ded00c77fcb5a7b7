/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_nn.c - normalisation, softmax, embeddings and losses. The expected texts are
 * PyTorch 1.13.1's.
 */
#include "opcase.h"

static const opcase normalisation[] = {
    {"aten::batch_norm",
     "f32[2,2,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4} f32[2]{-0.8 -1.9} f32[2]{1 -1.5} "
     "f32[2]{-0.3 1.3} f32[2]{0.2 0.3} false 0.1 1e-05 true",
     "f32[2,2,2]{3.8621 -0.252167 4.05016 6.82524 -0.609929 -1.14657 0.581311 -1.84689}"},
    {"aten::batch_norm",
     "f32[2,2,3]^{0.1 0.6 1.7 -1.8 -1.9 1.9 1.3 1.3 0.2 0.1 -0.9 1.7} None None f32[2]{-0.8 "
     "1.8} f32[2]{0.5 0.1} true 0.1 1e-05 true",
     "f32[2,2,3]{-1.27383 -0.443073 1.3846 -1.07883 -1.14421 1.34036 0.719993 0.719993 "
     "-1.10768 0.163459 -0.490377 1.2096}"},
    {"aten::batch_norm",
     "f64[3,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9} None f64[2]{0.7 1.4} None None true 0.1 1e-05 true",
     "f64[3,2]{-0.621887 1.79223 0.925688 0.0271966 1.7962 2.38057}"},
    {"aten::batch_norm",
     "bf16[2,2]{-1.89844 0.400391 -0.300781 -1.10156} None None f32[2]{0.6 0.9} f32[2]{0.8 "
     "0.2} false 0.1 1e-05 true",
     "bf16[2,2]{-2.79688 -1.11719 -1.00781 -4.46875}"},
    {"aten::native_batch_norm",
     "f32[3,2,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5} f32[2]{-0.3 1.3} None "
     "None None true 0.1 1e-05",
     "f32[3,2,2]{0.37731 -0.221182 -0.401378 -1.36469 -0.273224 -0.351288 0.802756 1.64565 "
     "0.0910747 0.37731 1.164 -1.84634} f32[2]{-0.45 0.0333333} f32[2]{0.867378 0.926257}"},
    {"aten::native_batch_norm",
     "f32[1,2,2]{-1.9 0.4 -0.3 -1.1} None None f32[2]{0.6 0.9} f32[2]{0.8 0.2} false 0.1 "
     "1e-05",
     "f32[1,2,2]{-2.79507 -0.223605 -2.68321 -4.47202} f32[0]{} f32[0]{}"},
    {"aten::batch_norm",
     "f32[2,3]{-0.8 -1.9 1 -1.5 -0.3 1.3} None None f32[2]{-1 1.2} f32[3]{0.1 0.1 0.6} false "
     "0.1 1e-05 true",
     "!running_mean should contain 3 elements not 2"},
    {"aten::batch_norm",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} None None None None false 0.1 1e-05 true",
     "!running_mean must be defined in evaluation mode"},
    {"aten::batch_norm", "i64[2,3]{1 1 1 1 1 1} None None None None true 0.1 1e-05 true",
     "!\"batch_norm\" not implemented for 'Long'"},
    {"aten::batch_norm", "f32[0,3]{} None None None None true 0.1 1e-05 true", "f32[0,3]{}"},
    /* what is no vector: contiguous parameters do, others would be read beyond their ends */
    {"aten::batch_norm",
     "f32[2,2]{1 2 3 4} f32[2,1]{2 3} f32[1,2]{0 1} f32[2]{0 1} f32[2]{1 4} false 0.1 0.0 true",
     "f32[2,2]{2 2.5 6 5.5}"},
    {"aten::batch_norm",
     "f32[1,4]{1 2 3 4} f32[2,2]^{1 2 3 4} None f32[4]{0 0 0 0} f32[4]{1 1 1 1} false 0.1 0.0 true",
     "!weight and bias should be 1-dimensional or contiguous"},
    {"aten::batch_norm", "f32[2,2]{1 2 3 4} None None f32[2,1]{0 1} f32[2]{1 4} false 0.1 0.0 true",
     "!TensorAccessor expected 1 dims but tensor has 2"},
    {"aten::batch_norm", "f32[2,2]{1 2 3 4} None None f32[2]{0 1} f32[1,2]{1 4} true 0.1 0.0 true",
     "!TensorAccessor expected 1 dims but tensor has 2"},
    {"aten::instance_norm", "f32[1,2,2]{1 2 3 4} None f32[2,1]{2 3} None None true 0.1 0.0 true",
     "!Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"},
    {"aten::instance_norm",
     "f32[2,2,3]{0.1 0.6 1.7 -1.8 -1.9 1.9 1.3 1.3 0.2 0.1 -0.9 1.7} f32[2]{-0.8 1.8} "
     "f32[2]{-0.4 -0.7} None None true 0.1 1e-05 true",
     "f32[2,2,3]{0.437898 -0.1606 -1.4773 -1.92155 -2.02335 1.8449 -0.965675 -0.965675 "
     "0.73135 -1.03619 -2.71713 1.65331}"},
    {"aten::instance_norm",
     "f32[2,2,3]{-1.3 -1.5 -0.6 -1.8 0.3 1.3 -0.8 -1.6 0.7 1.6 -0.1 0.2} None None None None "
     "false 0.1 1e-05 true",
     "!Expected running_mean and running_var to be defined when use_input_stats is false"},
    {"aten::layer_norm",
     "f32[2,4]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4} [4] f32[4]{-0.8 -1.9 1 -1.5} f32[4]{-0.3 "
     "1.3 -1 1.2}",
     "f32[2,4]{0.791339 -1.18163 -0.506576 1.85306 0.478622 1.3 -1.64885 -1.23319}"},
    {"aten::layer_norm",
     "f32[2,2,3]^{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5} "
     "[2 3]",
     "f32[2,2,3]{-1.67883 0.637954 -0.0671531 -0.87299 0.839414 1.1416 0.693001 1.24217 "
     "-0.483793 -1.34678 0.92836 -1.03296}"},
    {"aten::native_layer_norm",
     "f32[2,3]{0.1 0.6 1.7 -1.8 -1.9 1.9} [3] None f32[3]{1.3 1.3 0.2} 1e-05",
     "f32[2,3]{0.252627 1.00075 1.54662 0.621359 0.564806 1.61383} f32[2,1]{0.8 -0.6} "
     "f32[2,1]{1.49625 0.565534}"},
    /* of PyTorch 2: half precision with parameters of single precision */
    {"aten::native_layer_norm",
     "bf16[2,4]{0.5 -1.25 2 0.75 1 1.5 -0.5 3} [4] f32[4]{0.3 1.7 -0.9 1.1} f32[4]{0.1 0.2 0.3 "
     "0.4} 1e-05",
     "bf16[2,4]{0.100098 -2.35938 -0.863281 0.636719 0.0400391 0.539062 1.5625 1.9375} "
     "f32[2,1]{0.5 1.25} f32[2,1]{0.862659 0.799997}"},
    {"aten::layer_norm", "f16[1,4]{0.5 -1.25 2 0.75} [4] f32[4]{0.3 1.7 -0.9 1.1}",
     "f16[1,4]{0 -2.56641 -1.16504 0.237183}"},
    {"aten::native_group_norm",
     "bf16[1,4,1]{0.5 -1.25 2 0.75} f32[4]{0.3 1.7 -0.9 1.1} f32[4]{0.1 0.2 0.3 0.4} 1 4 1 2 "
     "1e-05",
     "bf16[1,4,1]{0.400391 -1.5 -0.601562 -0.699219} f32[1,2]{-0.375 1.375} f32[1,2]{1.14285 "
     "1.59998}"},
    {"aten::layer_norm", "f32[1,4]{0.5 -1.25 2 0.75} [4] f16[4]{0.3 1.7 -0.9 1.1}",
     "!expected scalar type Float but found Half"},
    {"aten::layer_norm", "f32[2,3]{0.1 -0.9 1.7 -0.8 1.8 -0.4} []",
     "!Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
     "element, but got normalized_shape = []"},
    {"aten::layer_norm", "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} [4]",
     "!Given normalized_shape=[4], expected input with shape [*, 4], but got input of "
     "size[2, 3]"},
    {"aten::layer_norm", "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} [3] f32[2]{0.7 1.4}",
     "!Expected weight to be of same shape as normalized_shape, but got weight of shape [2] "
     "and normalized_shape = [3]"},
    {"aten::layer_norm", "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} [3] f64[3]{0.7 1.4 -0.8}",
     "!expected scalar type Float but found Double"},
    {"aten::group_norm",
     "f32[1,4,2]{0.1 0.6 1.7 -1.8 -1.9 1.9 1.3 1.3} 2 f32[4]{0.2 0.1 -0.9 1.7} f32[4]{-0.8 "
     "1.8 -0.4 -0.7}",
     "f32[1,4,2]{-0.8079 -0.728904 1.92244 1.64596 1.1377 -1.15378 0.0403762 0.0403762}"},
    {"aten::native_group_norm",
     "f32[1,4,2]{0.1 0.6 1.7 -1.8 -1.9 1.9 1.3 1.3} None f32[4]{0.2 0.1 -0.9 1.7} 1 4 2 2 "
     "1e-05",
     "f32[1,4,2]{0.160502 0.555477 1.32442 -1.4404 -2.60856 -0.0624703 2.13552 2.13552} "
     "f32[1,2]{0.15 0.65} f32[1,2]{0.78995 0.670024}"},
    {"aten::group_norm", "f32[1,4,2]{-0.8 1.8 -0.4 -0.7 -1.3 -1.5 -0.6 -1.8} 3",
     "!Expected number of channels in input to be divisible by num_groups, but got input of "
     "shape [1, 4, 2] and num_groups=3"},
    {"aten::group_norm",
     "f32[1,4,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4} 2 f32[3]{-0.8 -1.9 "
     "1}",
     "!Expected weight to be a vector of size equal to the number of channels in input, but "
     "got weight of shape [3] and input of shape [1, 4, 2]"},
    {"aten::norm_except_dim",
     "f32[2,3,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 "
     "-1.5} 2 1",
     "f32[1,3,1]{2.49399 2.35584 2.10238}"},
    {"aten::norm_except_dim", "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} 2 -1", "f32[]{2.498}"},
    {"aten::_weight_norm", "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} f32[2,1]{0.8 0.2} 0",
     "f32[2,3]{-0.77366 0.162876 -0.122157 -0.142605 0.0777844 0.116677}"},
    {"aten::_weight_norm_interface",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} f32[1,3]{0.8 0.2 "
     "0.2} 1",
     "f32[2,3]{-0.692341 0.11094 -0.0632456 -0.400829 0.16641 0.189737} f32[1,3]{2.19545 "
     "0.72111 0.948683}"},
};

static const opcase softmaxes[] = {
    {"aten::softmax.int", "f32[2,4]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4} 1",
     "f32[2,4]{0.0550881 0.549458 0.272853 0.122601 0.176039 0.237627 0.194553 0.391781}"},
    {"aten::softmax.int", "f32[2,3,2]^{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5} 1",
     "f32[2,3,2]{0.0551404 0.348207 0.273112 0.0776956 0.671748 0.574097 0.388653 0.915829 "
     "0.0867202 0.0337787 0.524627 0.0503919}"},
    {"aten::softmax.int", "f32[3]{-1.9 0.4 -0.3} 0 7", "f64[3]{0.0627856 0.626235 0.310979}"},
    {"aten::softmax.int", "i64[3]{1 2 3} -1 6", "f32[3]{0.0900306 0.244728 0.665241}"},
    {"aten::softmax.int", "f32[]{3} 0", "f32[]{1}"},
    {"aten::softmax.int", "f32[2,2]{1 -1e+30 200 100} 1", "f32[2,2]{1 0 1 3.78351e-44}"},
    {"aten::log_softmax.int", "f32[2,4]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4} 1",
     "f32[2,4]{-2.89882 -0.598822 -1.29882 -2.09882 -1.73705 -1.43705 -1.63705 -0.937052}"},
    {"aten::log_softmax.int", "f64[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} 0",
     "f64[2,3]{-1.1711 -0.798139 -1.46328 -0.371101 -0.598139 -0.263282}"},
    {"aten::_softmax", "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} 0 false",
     "f32[2,3]{0.310026 0.450166 0.231475 0.689974 0.549834 0.768525}"},
    {"aten::_log_softmax", "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} 1 false",
     "f32[2,3]{-2.76803 -0.468029 -1.16803 -2.62922 -0.929224 -0.629224}"},
    {"aten::softmax.int", "f32[2,3]{0.7 1.4 -0.8 -1.9 1 -1.5} 2",
     "!Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
    {"aten::softmax.int", "i64[2]{1 1} 0",
     "!\"softmax_lastdim_kernel_impl\" not implemented for 'Long'"},
    {"aten::log_softmax.int", "i64[2,2]{1 1 1 1} 0",
     "!\"softmax_kernel_impl\" not implemented for 'Long'"},
    {"aten::_softmax", "f32[2]{-1.9 0.4} 0 true",
     "!softmax with half to float conversion is not supported on CPU"},
    {"aten::softmax.int", "f32[0,2]{} 1", "f32[0,2]{}"},
};

static const opcase embeddings[] = {
    {"aten::embedding", "f32[3,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9} i64[2,2]{2 0 1 1}",
     "f32[2,2,2]{0.6 0.9 -1.9 0.4 -0.3 -1.1 -0.3 -1.1}"},
    {"aten::embedding", "f32[3,2]^{-1.9 0.4 -0.3 -1.1 0.6 0.9} i32[2]{2 0}",
     "f32[2,2]{0.6 0.9 -1.9 0.4}"},
    {"aten::embedding", "i64[2,1]{1 1} i64[]{1}", "i64[1]{1}"},
    {"aten::embedding", "f32[3,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9} i64[1]{3}",
     "!index out of range in self"},
    {"aten::embedding", "f32[3,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9} i64[1]{-1}",
     "!index out of range in self"},
    {"aten::embedding", "f32[3,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9} f32[1]{1}",
     "!Expected tensor for argument #1 'indices' to have one of the following scalar types: "
     "Long, Int; but got torch.FloatTensor instead (while checking arguments for embedding)"},
    {"aten::embedding", "f32[3]{-1.9 0.4 -0.3} i64[1]{1}", "!'weight' must be 2-D"},
    {"aten::embedding_renorm_", "f32[3,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9} i64[3]{2 0 2} 1.5 2.0",
     "f32[3,2]{-1.46782 0.309016 -0.3 -1.1 0.6 0.9}"},
    {"aten::embedding_renorm_", "f32[3,2]{0.7 1.4 -0.8 -1.9 1 -1.5} i64[1]{3} 1.0 2.0",
     "!select(): index 3 out of range for tensor of size [3, 2] at dimension 0"},
    {"aten::embedding_bag",
     "f32[4,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4} i64[4]{0 1 3 3} i64[2]{0 3}",
     "f32[2,2]{-1.5 0.7 0.7 1.4} i64[0]{} i64[2]{0 0} i64[2]{0 0}"},
    {"aten::embedding_bag",
     "f32[4,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4} i64[4]{0 1 3 3} i64[2]{0 3} false 1",
     "f32[2,2]{-0.5 0.233333 0.7 1.4} i64[4]{0 0 0 1} i64[2]{3 1} i64[2]{3 1}"},
    {"aten::embedding_bag",
     "f32[4,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4} i64[4]{0 1 3 2} i64[3]{0 2 2} false 2",
     "f32[3,2]{-0.3 0.4 0 0 0.7 1.4} i64[4]{0 0 2 2} i64[3]{2 0 2} i64[3,2]{1 0 0 0 3 3}"},
    {"aten::embedding_bag",
     "f32[4,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4} i64[4]{0 1 3 3} i64[3]{0 2 4} false 0 "
     "false f32[4]{-0.8 -1.9 1 -1.5} true",
     "f32[2,2]{2.09 1.77 -0.35 -0.7} i64[0]{} i64[3]{0 0 0} i64[3]{0 0 0}"},
    {"aten::embedding_bag.padding_idx",
     "f32[4,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4} i64[4]{0 1 3 3} i64[2]{0 2} false 1 false "
     "None false -1",
     "f32[2,2]{-1.1 -0.35 0 0} i64[4]{0 0 1 1} i64[2]{2 0} i64[2]{2 0}"},
    {"aten::embedding_bag", "f32[4,2]{-0.8 -1.9 1 -1.5 -0.3 1.3 -1 1.2} i64[2]{0 1} i64[1]{1}",
     "!offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
     "position 0. However, got 1"},
    {"aten::embedding_bag",
     "f32[4,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4} i64[2]{0 4} i64[1]{0} false 2",
     "!embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be 4"},
    {"aten::embedding_bag",
     "f32[4,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4} i64[2]{0 1} i64[1]{0} false 1 false "
     "f32[2]{-0.8 -1.9}",
     "!embedding_bag: per_sample_weights only supported with mode='sum'"},
    {"aten::one_hot", "i64[1,2]{1 0} 3", "i64[1,2,3]{0 1 0 1 0 0}"},
    {"aten::one_hot", "i64[2]{1 2} -1", "i64[2,3]{0 1 0 0 0 1}"},
    {"aten::one_hot", "i64[2]{1 2} 2", "!Class values must be smaller than num_classes."},
    {"aten::one_hot", "i64[1]{-1} 2", "!Class values must be non-negative."},
    {"aten::one_hot", "i64[0]{} -1", "!Can not infer total number of classes from empty tensor."},
};

static const opcase losses[] = {
    {"aten::mse_loss", "f32[2,2]{-1.9 0.4 -0.3 -1.1} f32[2,2]{0.6 0.9 0.7 1.4} 0",
     "f32[2,2]{6.25 0.25 1 6.25}"},
    {"aten::l1_loss", "f32[3]{-1.9 0.4 -0.3} f64[3]{-1.1 0.6 0.9} 0", "f64[3]{0.8 0.2 1.2}"},
    /* in the dtype that both meet in */
    {"aten::smooth_l1_loss", "f16[3]{2.5 1.25 60000} i64[3]{100000 3 65520} 0 1.0",
     "f16[3]{inf 1.25 inf}"},
    {"aten::huber_loss", "f16[3]{2.5 1.25 60000} i64[3]{100000 3 65520} 0 1.0",
     "f16[3]{inf 1.25 inf}"},
    {"aten::huber_loss", "f16[3]{2.5 1.25 60000} f32[3]{100000 3 65520} 0 1.0",
     "f16[3]{inf 1.25 5520}"},
    {"aten::smooth_l1_loss", "f32[4]{-1.9 0.4 -0.3 -1.1} f32[4]{0.6 0.9 0.7 1.4} 0 0.5",
     "f32[4]{2.25 0.25 0.75 2.25}"},
    {"aten::huber_loss", "f32[4]{-1.9 0.4 -0.3 -1.1} f32[4]{0.6 0.9 0.7 1.4} 0 1.5",
     "f32[4]{2.625 0.125 0.5 2.625}"},
    {"aten::binary_cross_entropy",
     "f32[3]{0.9 0.1 0.3} f32[3]{0.7 0.8 0.7} f32[3]{0.8 0.2 "
     "0.2} 0",
     "f32[3]{0.611622 0.372628 0.189957}"},
    {"aten::binary_cross_entropy_with_logits",
     "f32[3]{-1.9 0.4 -0.3} f32[3]{0.7 0.8 0.7} f32[3]{0.8 0.2 0.2} f32[3]{0.1 0.9 0.3} 0",
     "f32[3]{0.147658 0.110395 0.0691442}"},
    {"aten::kl_div", "f32[3]{-1.9 0.4 -0.3} f32[3]{0.7 0.8 0.7} 0",
     "f32[3]{1.08033 -0.498515 -0.0396725}"},
    {"aten::nll_loss",
     "f32[3,4]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5} i64[3]{1 -100 3} "
     "f32[4]{0.7 0.4 0.2 0.3} 0",
     "f32[3]{-0.16 0 0.45}"},
    {"aten::cross_entropy_loss",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} i64[2]{1 2} f32[3]{0.8 0.2 0.2} 0 -100 0.1",
     "f32[2]{0.168966 0.193763}"},
    {"aten::cross_entropy_loss",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} f32[2,3]{0.8 0.2 0.2 0.1 0.9 0.3} f32[3]{0.7 0.4 "
     "0.2} 0",
     "f32[2]{1.63426 0.55632}"},
    {"aten::cross_entropy_loss", "f32[1,2,2]{-1.9 0.4 -0.3 -1.1} i64[1,2]{1 -100} None 0",
     "f32[1,2]{0.183901 0}"},
    {"aten::multi_margin_loss",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} i64[2]{1 2} 2 1 f32[3]{0.8 0.2 0.2} 0",
     "f32[2]{0.006 0.0326667}"},
    {"aten::multilabel_margin_loss",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} i64[2,3]{1 -1 0 2 0 -1} 0", "f32[2]{0.1 1.13333}"},
    {"aten::soft_margin_loss", "f32[3]{-1.9 0.4 -0.3} f32[3]{1 -1 1} 0",
     "f32[3]{2.03939 0.913015 0.854355}"},
    {"aten::hinge_embedding_loss", "f32[3]{-1.9 0.4 -0.3} i64[3]{1 -1 1} 1.0 0",
     "f32[3]{-1.9 0.6 -0.3}"},
    {"aten::margin_ranking_loss",
     "f32[3]{-1.9 0.4 -0.3} f32[3]{-1.1 0.6 0.9} f32[3]{1 -1 1} "
     "0.1 0",
     "f32[3]{0.9 0 1.3}"},
    {"aten::poisson_nll_loss", "f32[3]{-1.9 0.4 -0.3} f32[3]{14 16 14} true true 1e-08 0",
     "f32[3]{51.9348 25.7585 30.1261}"},
    {"aten::triplet_margin_loss",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} f32[2,3]{0.7 1.4 -0.8 -1.9 1 -1.5} f32[2,3]{-0.3 "
     "1.3 -1 1.2 1.5 1.7} 1.0 2.0 1e-06 true 0",
     "f32[2]{2.8055 0.965101}"},
    {"aten::cosine_embedding_loss",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} f32[2,3]{0.7 1.4 -0.8 -1.9 1 -1.5} i64[2]{1 -1} "
     "0.1 0",
     "f32[2]{1.15346 0.23163}"},
    {"aten::ctc_loss.IntList",
     "f32[4,2,3]{-2.768 -0.468 -1.168 -2.629 -0.929 -0.629 -1.175 -0.475 -2.675 -3.028 "
     "-0.128 -2.628 -1.864 -0.264 -2.564 -1.386 -1.086 -0.886 -0.391 -2.591 -1.391 -0.836 "
     "-2.436 -0.736} i64[2,2]{1 2 2 2} [4 3] [2 1] 0 0",
     "f32[2]{1.82334 3.3009}"},
    {"aten::mse_loss", "f32[2,2]{-1.9 0.4 -0.3 -1.1} f32[2,2]{0.6 0.9 0.7 1.4} 1", "f32[]{3.4375}"},
    {"aten::l1_loss", "f32[3]{-1.9 0.4 -0.3} f64[3]{-1.1 0.6 0.9} 1", "f64[]{0.733333}"},
    {"aten::smooth_l1_loss", "f32[4]{-1.9 0.4 -0.3 -1.1} f32[4]{0.6 0.9 0.7 1.4} 1 0.5",
     "f32[]{1.375}"},
    {"aten::huber_loss", "f32[4]{-1.9 0.4 -0.3 -1.1} f32[4]{0.6 0.9 0.7 1.4} 1 1.5",
     "f32[]{1.46875}"},
    {"aten::binary_cross_entropy",
     "f32[3]{0.9 0.1 0.3} f32[3]{0.7 0.8 0.7} f32[3]{0.8 0.2 "
     "0.2} 1",
     "f32[]{0.391402}"},
    {"aten::binary_cross_entropy_with_logits",
     "f32[3]{-1.9 0.4 -0.3} f32[3]{0.7 0.8 0.7} f32[3]{0.8 0.2 0.2} f32[3]{0.1 0.9 0.3} 1",
     "f32[]{0.109066}"},
    {"aten::kl_div", "f32[3]{-1.9 0.4 -0.3} f32[3]{0.7 0.8 0.7} 1", "f32[]{0.180713}"},
    {"aten::nll_loss",
     "f32[3,4]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5} i64[3]{1 -100 3} "
     "f32[4]{0.7 0.4 0.2 0.3} 1",
     "f32[]{0.414286}"},
    {"aten::cross_entropy_loss",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} i64[2]{1 2} f32[3]{0.8 0.2 0.2} 1 -100 0.1",
     "f32[]{0.906822}"},
    {"aten::cross_entropy_loss",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} f32[2,3]{0.8 0.2 0.2 0.1 0.9 0.3} f32[3]{0.7 0.4 "
     "0.2} 1",
     "f32[]{1.09529}"},
    {"aten::cross_entropy_loss", "f32[1,2,2]{-1.9 0.4 -0.3 -1.1} i64[1,2]{1 -100} None 1",
     "f32[]{0.183901}"},
    {"aten::multi_margin_loss",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} i64[2]{1 2} 2 1 f32[3]{0.8 0.2 0.2} 1",
     "f32[]{0.0193333}"},
    {"aten::multilabel_margin_loss",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} i64[2,3]{1 -1 0 2 0 -1} 1", "f32[]{0.616667}"},
    {"aten::soft_margin_loss", "f32[3]{-1.9 0.4 -0.3} f32[3]{1 -1 1} 1", "f32[]{1.26892}"},
    {"aten::hinge_embedding_loss", "f32[3]{-1.9 0.4 -0.3} i64[3]{1 -1 1} 1.0 1",
     "f32[]{-0.533333}"},
    {"aten::margin_ranking_loss",
     "f32[3]{-1.9 0.4 -0.3} f32[3]{-1.1 0.6 0.9} f32[3]{1 -1 1} "
     "0.1 1",
     "f32[]{0.733333}"},
    {"aten::poisson_nll_loss", "f32[3]{-1.9 0.4 -0.3} f32[3]{14 16 14} true true 1e-08 1",
     "f32[]{35.9398}"},
    {"aten::triplet_margin_loss",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} f32[2,3]{0.7 1.4 -0.8 -1.9 1 -1.5} f32[2,3]{-0.3 "
     "1.3 -1 1.2 1.5 1.7} 1.0 2.0 1e-06 true 1",
     "f32[]{1.8853}"},
    {"aten::cosine_embedding_loss",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} f32[2,3]{0.7 1.4 -0.8 -1.9 1 -1.5} i64[2]{1 -1} "
     "0.1 1",
     "f32[]{0.692547}"},
    {"aten::ctc_loss.IntList",
     "f32[4,2,3]{-2.768 -0.468 -1.168 -2.629 -0.929 -0.629 -1.175 -0.475 -2.675 -3.028 "
     "-0.128 -2.628 -1.864 -0.264 -2.564 -1.386 -1.086 -0.886 -0.391 -2.591 -1.391 -0.836 "
     "-2.436 -0.736} i64[2,2]{1 2 2 2} [4 3] [2 1] 0 1",
     "f32[]{2.10629}"},
    {"aten::mse_loss", "f32[2,2]{-1.9 0.4 -0.3 -1.1} f32[2,2]{0.6 0.9 0.7 1.4} 2", "f32[]{13.75}"},
    {"aten::l1_loss", "f32[3]{-1.9 0.4 -0.3} f64[3]{-1.1 0.6 0.9} 2", "f64[]{2.2}"},
    {"aten::smooth_l1_loss", "f32[4]{-1.9 0.4 -0.3 -1.1} f32[4]{0.6 0.9 0.7 1.4} 2 0.5",
     "f32[]{5.5}"},
    {"aten::huber_loss", "f32[4]{-1.9 0.4 -0.3 -1.1} f32[4]{0.6 0.9 0.7 1.4} 2 1.5",
     "f32[]{5.875}"},
    {"aten::binary_cross_entropy",
     "f32[3]{0.9 0.1 0.3} f32[3]{0.7 0.8 0.7} f32[3]{0.8 0.2 "
     "0.2} 2",
     "f32[]{1.17421}"},
    {"aten::binary_cross_entropy_with_logits",
     "f32[3]{-1.9 0.4 -0.3} f32[3]{0.7 0.8 0.7} f32[3]{0.8 0.2 0.2} f32[3]{0.1 0.9 0.3} 2",
     "f32[]{0.327198}"},
    {"aten::kl_div", "f32[3]{-1.9 0.4 -0.3} f32[3]{0.7 0.8 0.7} 2", "f32[]{0.54214}"},
    {"aten::nll_loss",
     "f32[3,4]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5} i64[3]{1 -100 3} "
     "f32[4]{0.7 0.4 0.2 0.3} 2",
     "f32[]{0.29}"},
    {"aten::cross_entropy_loss",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} i64[2]{1 2} f32[3]{0.8 0.2 0.2} 2 -100 0.1",
     "f32[]{0.362729}"},
    {"aten::cross_entropy_loss",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} f32[2,3]{0.8 0.2 0.2 0.1 0.9 0.3} f32[3]{0.7 0.4 "
     "0.2} 2",
     "f32[]{2.19058}"},
    {"aten::cross_entropy_loss", "f32[1,2,2]{-1.9 0.4 -0.3 -1.1} i64[1,2]{1 -100} None 2",
     "f32[]{0.183901}"},
    {"aten::multi_margin_loss",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} i64[2]{1 2} 2 1 f32[3]{0.8 0.2 0.2} 2",
     "f32[]{0.0386667}"},
    {"aten::multilabel_margin_loss",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} i64[2,3]{1 -1 0 2 0 -1} 2", "f32[]{1.23333}"},
    {"aten::soft_margin_loss", "f32[3]{-1.9 0.4 -0.3} f32[3]{1 -1 1} 2", "f32[]{3.80676}"},
    {"aten::hinge_embedding_loss", "f32[3]{-1.9 0.4 -0.3} i64[3]{1 -1 1} 1.0 2", "f32[]{-1.6}"},
    {"aten::margin_ranking_loss",
     "f32[3]{-1.9 0.4 -0.3} f32[3]{-1.1 0.6 0.9} f32[3]{1 -1 1} "
     "0.1 2",
     "f32[]{2.2}"},
    {"aten::poisson_nll_loss", "f32[3]{-1.9 0.4 -0.3} f32[3]{14 16 14} true true 1e-08 2",
     "f32[]{107.819}"},
    {"aten::triplet_margin_loss",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} f32[2,3]{0.7 1.4 -0.8 -1.9 1 -1.5} f32[2,3]{-0.3 "
     "1.3 -1 1.2 1.5 1.7} 1.0 2.0 1e-06 true 2",
     "f32[]{3.7706}"},
    {"aten::cosine_embedding_loss",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} f32[2,3]{0.7 1.4 -0.8 -1.9 1 -1.5} i64[2]{1 -1} "
     "0.1 2",
     "f32[]{1.38509}"},
    {"aten::ctc_loss.IntList",
     "f32[4,2,3]{-2.768 -0.468 -1.168 -2.629 -0.929 -0.629 -1.175 -0.475 -2.675 -3.028 "
     "-0.128 -2.628 -1.864 -0.264 -2.564 -1.386 -1.086 -0.886 -0.391 -2.591 -1.391 -0.836 "
     "-2.436 -0.736} i64[2,2]{1 2 2 2} [4 3] [2 1] 0 2",
     "f32[]{5.12424}"},
    {"aten::binary_cross_entropy", "f32[2]{1 0} f32[2]{1 1}", "f32[]{50}"},
    {"aten::nll_loss2d", "f32[1,2,1,2]{-1.9 0.4 -0.3 -1.1} i64[1,1,2]{1 0}", "f32[]{-0.05}"},
    {"aten::nll_loss_nd",
     "f32[2,2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5} i64[2,3]{1 0 1 1 1 0} "
     "None 0",
     "f32[2,3]{1.1 -0.4 -0.9 1.9 -1 0.8}"},
    {"aten::nll_loss_forward",
     "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} i64[2]{1 2} f32[3]{0.8 0.2 0.2} 1 -100",
     "f32[]{-0.65} f32[]{0.4}"},
    {"aten::multilabel_margin_loss_forward", "f32[3]{-1.9 0.4 -0.3} i64[3]{1 -1 0} 1",
     "f32[]{0.1} f32[3]{0 1 0}"},
    {"aten::mse_loss", "f32[2,2]{-1.9 0.4 -0.3 -1.1} f32[2]{0.6 0.9} 0",
     "f32[2,2]{6.25 0.25 0.81 4}"},
    {"aten::kl_div", "f32[3]{-1.9 0.4 -0.3} f32[3]{-1.1 0.6 0.9} 1 true", "f32[]{1.19408}"},
    {"aten::mse_loss", "f32[2,3]{0.7 1.4 -0.8 -1.9 1 -1.5} f32[4]{-0.3 1.3 -1 1.2}",
     "!The size of tensor a (3) must match the size of tensor b (4) at non-singleton "
     "dimension 1"},
    {"aten::mse_loss", "i64[2]{1 1} i64[2]{1 1}", "!\"mse_cpu\" not implemented for 'Long'"},
    {"aten::l1_loss", "i64[2]{1 1} i64[2]{1 1}",
     "!mean(): could not infer output dtype. Input dtype must be either a floating point or "
     "complex dtype. Got: Long"},
    {"aten::smooth_l1_loss", "f32[2]{1.5 1.7} f32[2]{0.3 -1.9} 1 -1.0",
     "!smooth_l1_loss does not support negative values for beta."},
    {"aten::huber_loss", "f32[2]{-0.7 0.1} f32[2]{-1.5 0.2} 1 0.0",
     "!huber_loss does not support non-positive values for delta."},
    {"aten::binary_cross_entropy", "f32[2]{3.6 4.3} f32[2]{0.8 0.9}",
     "!all elements of input should be between 0 and 1"},
    {"aten::binary_cross_entropy", "f32[2]{0.7 0.1} f64[2]{0.2 0.1}",
     "!Found dtype Double but expected Float"},
    {"aten::nll_loss", "f32[2,3]{-0.1 0.8 -0.6 -1 -0.2 1.2} i64[2]{1 3}",
     "!Target 3 is out of bounds."},
    {"aten::nll_loss", "f32[2,3]{-1.2 1.8 -2 -0.9 -1.9 -1.7} i64[1]{1}",
     "!size mismatch (got input: [2, 3], target: [1])"},
    {"aten::nll_loss", "f32[2,3]{-1.8 0.3 1.6 -1.4 1 0.2} f32[2]{1 2}",
     "!expected target dtype to be Long or Byte, but got Float"},
    {"aten::nll_loss", "f32[2,3]{-1.8 1.2 -0.3 0.8 1.6 1.4} i64[2]{1 2} f32[2]{-1.5 -1.7}",
     "!weight tensor should be defined either for all 3 classes or no classes but got weight "
     "tensor of shape: [2]"},
    {"aten::nll_loss_nd",
     "f32[2,3,4]{-2 -0.7 -0.3 0.6 -1.9 1 -1 0.3 1 -0.8 1.8 -1.6 -1.5 -1 2 -0.3 -1.8 1.3 0.7 "
     "0.3 1.2 -1.6 -1.6 1.3} i64[2,3]{0 0 0 0 0 0}",
     "!Expected target size [2, 4], got [2, 3]"},
    {"aten::cross_entropy_loss", "f32[2,3]{-0.9 1.8 -1.6 -2 1.3 1.4} i64[2,3]{1 1 1 1 1 1}",
     "!Expected floating point type for target with class probabilities, got Long"},
    {"aten::cross_entropy_loss",
     "f32[2,3]{1.3 1.9 0.4 1.9 -0.6 -2} f32[2,3]{0.2 0.6 0.8 0.8 0.9 0.2} None 1 0",
     "!ignore_index is not supported for floating point target"},
    {"aten::multi_margin_loss", "f32[2,3]{-0.9 2 -1.7 0.7 -1.3 -0.8} i64[2]{1 5}",
     "!target out of range"},
    {"aten::multilabel_margin_loss", "f32[3]{-0.6 0.6 0} i64[3]{1 9 -1}",
     "!argument #2 'target' is out of range"},
    {"aten::triplet_margin_loss",
     "f32[2,3]{-1.5 -1.1 0 -1.4 -1.8 0.7} f32[3]{0.9 1.5 0.1} f32[3]{1.2 -1.4 0.9}",
     "!All inputs should have same dimension but got 2D, 1D and 1D inputs."},
    {"aten::cosine_embedding_loss", "f32[3]{-0.6 1.3 1.6} f32[3]{-1 1.7 -0.7} i64[2]{1 1}",
     "!1D target tensor expects 2D input tensors, but found inputs with sizes [3] and [3]."},
    {"aten::ctc_loss.IntList",
     "f32[4,1,3]{-0.5 1 -0.9 -0.7 1.1 -1.5 -0.3 1.2 -0.8 -2 0.8 1.4} i64[2]{1 2} [5] [2]",
     "!Expected input_lengths to have value at most 4, but got value 5 (while checking "
     "arguments for ctc_loss_cpu)"},
    {"aten::ctc_loss.IntList",
     "f32[4,1,3]{1.5 -1.5 -1.3 1.4 1.7 -2 -0.5 0.6 1.1 -1.3 0.5 0.4} i64[2]{1 2} [4] [2] 3",
     "!blank must be in label range"},
    {"aten::_ctc_loss",
     "f32[4,1,3]{-1.8 1.5 1 -1.3 -1.4 -0.4 0.5 -0.7 -1.6 0.8 -1 0.4} i64[1]{1} [4] [2]",
     "!Expected tensor to have size 2 at dimension 0, but got size 1 for argument #2 "
     "'targets' (while checking arguments for ctc_loss_cpu)"},
};

enum { MAX_RESULTS = 5 };

/* Training changes the running statistics, which are arguments. */
/* What torchaudio 2.11's loops in Python give. */
static const opcase filters[] = {
    {"torchaudio::_lfilter_core_loop", "f32[1,1,3]{1 2 3} f32[1,2]{0.5 1} f32[1,1,4]{0 0 0 0}",
     "f32[1,1,4]{0 1 1.5 2.25}"},
    {"torchaudio::_lfilter_core_loop",
     "f64[2,2,2]^{1 2 3 4 5 6 7 8} f64[2,3]^{0.5 -1 1 2 0.25 1} f64[2,2,4]{0 0 0 0 0 0 0 0 0 0 0 0 "
     "0 0 0 0}",
     "f64[2,2,4]{0 0 1 3 0 0 3 3.25 0 0 5 11 0 0 7 6.25}"},
    {"torchaudio::_lfilter_core_loop", "f32[1,1,0]{} f32[1,1]{1} f32[1,1,0]{}", "f32[1,1,0]{}"},
    {"torchaudio::_lfilter_core_loop", "f32[1,1,3]{1 2 3} f32[1,2]{0.5 1} f32[1,1,3]{0 0 0}",
     "!torchaudio::_lfilter_core_loop: the sizes of input, coefficients and output do not fit"},
    {"torchaudio::_lfilter_core_loop", "f32[1,1,3]{1 2 3} f32[1,0]{} f32[1,1,2]{0 0}",
     "!torchaudio::_lfilter_core_loop: the sizes of input, coefficients and output do not fit"},
    {"torchaudio::_lfilter_core_loop", "f32[1,1,1]{1} f64[1,1]{1} f32[1,1,1]{0}",
     "!torchaudio::_lfilter_core_loop: the tensors have several dtypes"},
    {"torchaudio::_lfilter_core_loop", "i64[1,1,1]{1} i64[1,1]{1} i64[1,1,1]{0}",
     "!\"torchaudio::_lfilter_core_loop\" not implemented for 'Long'"},
    {"torchaudio::_overdrive_core_loop",
     "f64[1,2]{1 2} f64[1,2]{2 4} f64[1]{0} f64[1]{0} f64[1,2]{0 0}",
     "f64[1]{4} f64[1]{3.99} f64[1,2]{2 3.9925}"},
    {"torchaudio::_overdrive_core_loop",
     "f32[1,2]{1 2} f32[1,2]{2 4} f32[1]{0} f32[2]{0 0} f32[1,2]{0 0}",
     "!torchaudio::_overdrive_core_loop: the sizes of the tensors do not fit"},
};

static void test_running_statistics(void **state) {
    (void)state;
    const char *at = "f32[2,1,2]{1 2 3 6} f32[1]{10} f32[1]{1}";
    value x = opcase_value(&at), mean = opcase_value(&at), var = opcase_value(&at);
    value args[] = {x,
                    value_none(),
                    value_none(),
                    mean,
                    var,
                    value_bool(true),
                    value_float(0.25),
                    value_float(1e-5),
                    value_bool(true)};
    value results[MAX_RESULTS] = {value_none()};
    op_ctx cx = {0};
    assert_int_equal(op_call(&cx, "aten::_batch_norm_impl_index", 9, args, results), CTSC_OK);
    strbuf text = STRBUF_INIT;
    opcase_print(mean, &text);
    opcase_print(var, &text);
    opcase_print(results[1], &text);
    opcase_print(results[3], &text);
    opcase_print(results[4], &text);
    assert_string_equal(sb_str(&text), "f32[1]{8.25}f32[1]{1.91667}f32[1]{3}u8[0]{}0");
    sb_free(&text);
    for (int i = 0; i < MAX_RESULTS; i++) value_unref(results[i]);
    for (int i = 0; i < 9; i++) value_unref(args[i]);
}

static void test_normalisation(void **state) {
    (void)state;
    opcase_run(normalisation, sizeof normalisation / sizeof *normalisation);
}

static void test_softmaxes(void **state) {
    (void)state;
    opcase_run(softmaxes, sizeof softmaxes / sizeof *softmaxes);
}

static void test_embeddings(void **state) {
    (void)state;
    opcase_run(embeddings, sizeof embeddings / sizeof *embeddings);
}

static void test_filters(void **state) {
    (void)state;
    opcase_run(filters, sizeof filters / sizeof *filters);
}

static void test_losses(void **state) {
    (void)state;
    opcase_run(losses, sizeof losses / sizeof *losses);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normalisation), cmocka_unit_test(test_running_statistics),
        cmocka_unit_test(test_softmaxes),     cmocka_unit_test(test_embeddings),
        cmocka_unit_test(test_losses),        cmocka_unit_test(test_filters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
