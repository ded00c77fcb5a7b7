/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fft.c - Fourier transforms. The rows are PyTorch 1.13.1's; transforms of many lengths, in
 * every layout of lines, are compared with the sums that define them, and runs with one thread and
 * with several with each other.
 */
#include "opcase.h"

#include "base/threads/thread_pool.h"
#include "runtime/kernels/fft/fft.h"

#include <math.h>

static const opcase transforms[] = {
    {"aten::fft_fft", "f32[4]{1 -2 3 0.5} None -1 None", "c64[4]{2.5:0 -2:2.5 5.5:0 -2:-2.5}"},
    {"aten::fft_fft", "f64[5]{1 2 -1 0 4} 4 0 'ortho'", "c128[4]{1:0 1:-1 -1:0 1:1}"},
    {"aten::fft_fft", "c64[3]{1:2 -1:0.5 3:-1} None -1 'forward'",
     "c64[3]{1:0.5 0.433013:1.9047 -0.433013:-0.404701}"},
    {"aten::fft_fft", "i64[3]{1 2 3} 5 -1 None",
     "c64[5]{6:0 -0.809017:-3.66547 0.309017:1.6776 0.309017:-1.6776 -0.809017:3.66547}"},
    {"aten::fft_fft", "f32[2,3]{1 2 3 4 -5 6} None 0 None", "c64[2,3]{5:0 -3:0 9:0 -3:0 7:0 -3:0}"},
    {"aten::fft_ifft", "f32[4]{1 -2 3 0.5} None -1 None",
     "c64[4]{0.625:-0 -0.5:-0.625 1.375:-0 -0.5:0.625}"},
    {"aten::fft_ifft", "c64[3]{1:2 -1:0.5 3:-1} 2 -1 'forward'", "c64[2]{0:2.5 2:1.5}"},
    {"aten::fft_ifft", "c128[2,2]{1:1 2:-1 0:0.5 -3:0} 3 1 'ortho'",
     "c128[2,3]{1.73205:0 0.5:1.86603 -0.5:-0.133975 -1.73205:0.288675 0.866025:-1.21132 "
     "0.866025:1.78868}"},
    {"aten::fft_rfft", "f32[4]{1 -2 3 0.5} None -1 None", "c64[3]{2.5:0 -2:2.5 5.5:0}"},
    {"aten::fft_rfft", "f64[5]{1 2 -1 0 4} None -1 'ortho'",
     "c128[3]{2.68328:0 1.6382:1.11352 -1.8618:0.100406}"},
    {"aten::fft_rfft", "b[4]{1 0 1 1} 6 -1 None", "c64[4]{3:0 -0.5:-0.866025 1.5:0.866025 1:0}"},
    {"aten::fft_rfft", "f32[2,3]{1 2 3 4 -5 6} 1 1 None", "c64[2,1]{1:0 4:0}"},
    {"aten::fft_irfft", "c64[3]{1:2 -1:0.5 3:-1} None -1 None", "f32[4]{0.5 -0.75 1.5 -0.25}"},
    {"aten::fft_irfft", "c64[3]{1:2 -1:0.5 3:-1} 5 -1 'forward'",
     "f32[5]{5 -4.24762 1.98224 6.96203 -4.69665}"},
    {"aten::fft_irfft", "f32[4]{1 -2 3 0.5} 3 -1 None", "f32[3]{-1 1 1}"},
    {"aten::fft_irfft", "c128[2,2]{1:1 2:-1 0:0.5 -3:0} None 0 None", "f64[2,2]{0.5 -0.5 0.5 2.5}"},
    {"aten::fft_irfft", "c64[3]{1:2 -1:0.5 3:-1} 1 -1 None", "f32[1]{1}"},
    {"aten::fft_hfft", "c64[3]{1:2 -1:0.5 3:-1} None -1 None", "f32[4]{2 -1 6 -3}"},
    {"aten::fft_hfft", "i64[3]{1 2 3} 5 -1 'ortho'",
     "f32[5]{4.91935 -1.17082 -0.17082 -0.17082 -1.17082}"},
    {"aten::fft_ihfft", "f32[4]{1 -2 3 0.5} None -1 None", "c64[3]{0.625:-0 -0.5:-0.625 1.375:-0}"},
    {"aten::fft_ihfft", "f64[5]{1 2 -1 0 4} 3 -1 'forward'", "c128[2]{2:-0 0.5:2.59808}"},
    {"aten::fft_fft2", "f32[2,3]{1 2 3 4 -5 6} None [-2 -1] None",
     "c64[2,3]{11:0 2:10.3923 2:-10.3923 1:0 -5:-8.66025 -5:8.66025}"},
    {"aten::fft_fft2", "c128[2,2]{1:1 2:-1 0:0.5 -3:0} [1 3] [1 0] 'ortho'",
     "c128[3,1]{0.57735:0.866025 0.82735:0.433013 0.32735:0.433013}"},
    {"aten::fft_ifft2", "f32[2,3]{1 2 3 4 -5 6} [2 2] [-2 -1] None",
     "c64[2,2]{0.5:0 2:0 1:0 -2.5:0}"},
    {"aten::fft_rfft2", "f32[2,3]{1 2 3 4 -5 6} None [-2 -1] 'forward'",
     "c64[2,2]{1.83333:0 0.333333:1.73205 0.166667:0 -0.833333:-1.44338}"},
    {"aten::fft_irfft2", "c128[2,2]{1:1 2:-1 0:0.5 -3:0} [2 3] [-2 -1] None",
     "f64[2,3]{-0.166667 0.622008 0.0446582 1.83333 -0.377992 -0.955342}"},
    {"aten::fft_hfft2", "c128[2,2]{1:1 2:-1 0:0.5 -3:0} None [-2 -1] None", "f64[2,2]{0 2 6 -4}"},
    {"aten::fft_ihfft2", "f32[2,3]{1 2 3 4 -5 6} None [0 1] None",
     "c64[2,2]{1.83333:-0 0.333333:-1.73205 0.166667:0 -0.833333:1.44338}"},
    {"aten::fft_fftn", "f32[2,3]{1 2 3 4 -5 6} None None None",
     "c64[2,3]{11:0 2:10.3923 2:-10.3923 1:0 -5:-8.66025 -5:8.66025}"},
    {"aten::fft_fftn", "f32[2,3]{1 2 3 4 -5 6} [4] None None",
     "c64[2,4]{6:0 -2:-2 2:0 -2:2 5:0 -2:5 15:0 -2:-5}"},
    {"aten::fft_ifftn", "c128[2,2]{1:1 2:-1 0:0.5 -3:0} [-1 1] [0 1] None",
     "c128[2,1]{0.5:0.75 0.5:0.25}"},
    {"aten::fft_rfftn", "f32[2,3]{1 2 3 4 -5 6} [3 2] [1 0] None",
     "c64[2,3]{11:0 2:10.3923 2:-10.3923 1:0 -5:-8.66025 -5:8.66025}"},
    {"aten::fft_irfftn", "c128[2,2]{1:1 2:-1 0:0.5 -3:0} None None 'ortho'", "f64[2,2]{0 1 3 -2}"},
    {"aten::fft_hfftn", "c128[2,2]{1:1 2:-1 0:0.5 -3:0} [2 3] None None",
     "f64[2,3]{-1 0.267949 3.73205 11 -5.73205 -2.26795}"},
    {"aten::fft_ihfftn", "f32[2,3]{1 2 3 4 -5 6} None [1] None",
     "c64[2,2]{2:-0 -0.5:-0.288675 1.66667:-0 1.16667:-3.17543}"},
    {"aten::_fft_c2c", "c128[2,2]{1:1 2:-1 0:0.5 -3:0} [0 1] 2 false",
     "c128[2,2]{0:0.125 0.5:0.625 1.5:-0.125 -1:0.375}"},
    {"aten::_fft_r2c", "f32[2,3]{1 2 3 4 -5 6} [0 1] 0 false",
     "c64[2,3]{11:0 2:10.3923 2:-10.3923 1:0 -5:-8.66025 -5:8.66025}"},
    {"aten::_fft_r2c", "f32[2,3]{1 2 3 4 -5 6} [0 1] 1 true",
     "c64[2,2]{4.49073:0 0.816497:4.24264 0.408248:0 -2.04124:-3.53553}"},
    {"aten::_fft_c2r", "c128[2,2]{1:1 2:-1 0:0.5 -3:0} [0 1] 0 3",
     "f64[2,3]{-1 3.73205 0.267949 11 -2.26795 -5.73205}"},
    {"aten::_fft_r2c", "f32[0,3]{} [1] 0 true", "c64[0,2]{}"},
    {"aten::_fft_r2c", "f32[0]{} [0] 1 false", "c64[0]{}"},
    {"aten::_fft_c2r", "c64[0]{} [0] 1 0", "f32[0]{}"},
    {"aten::fft_fft", "f32[0,3]{} None -1 None", "c64[0,3]{}"},
    {"aten::fft_irfft", "c64[0,3]{} None -1 None", "f32[0,4]{}"},
    {"aten::fft_fftshift", "i64[5]{0 1 2 3 4} None", "i64[5]{3 4 0 1 2}"},
    {"aten::fft_fftshift", "f32[2,3]{1 2 3 4 -5 6} [1]", "f32[2,3]{3 1 2 6 4 -5}"},
    {"aten::fft_ifftshift", "i64[5]{0 1 2 3 4} None", "i64[5]{2 3 4 0 1}"},
    {"aten::fft_ifftshift", "f32[2,3]{1 2 3 4 -5 6} None", "f32[2,3]{-5 6 4 2 3 1}"},
    {"aten::fft_fftfreq", "5 0.5", "f32[5]{0 0.4 0.8 -0.8 -0.4}"},
    {"aten::fft_fftfreq", "4 1.0", "f32[4]{0 0.25 -0.5 -0.25}"},
    {"aten::fft_rfftfreq", "5 0.25", "f32[3]{0 0.8 1.6}"},
    {"aten::fft_rfftfreq", "0 1.0", "f32[1]{nan}"},
    {"aten::complex", "f32[4]{1 -2 3 0.5} f32[1]{1}", "c64[4]{1:1 -2:1 3:1 0.5:1}"},
    {"aten::polar", "f64[2]{1 2} f64[2]{0 0.5}", "c128[2]{1:0 1.75517:0.958851}"},
    {"aten::angle", "c64[3]{1:1 -1:0 0:-2}", "f32[3]{0.785398 3.14159 -1.5708}"},
    {"aten::imag", "c64[3]{1:2 -1:0.5 3:-1}", "f32[3]{2 0.5 -1}"},
    {"aten::real", "c64[3]{1:2 -1:0.5 3:-1}", "f32[3]{1 -1 3}"},
    {"aten::real", "f32[4]{1 -2 3 0.5}", "f32[4]{1 -2 3 0.5}"},
    {"aten::stft", "f32[6]{1 2 -1 0.5 3 -2} 4 2 None None false None true",
     "c64[3,2]{2.5:0 0.5:0 2:-1.5 -4:-2.5 -2.5:0 3.5:0}"},
    {"aten::stft", "f32[6]{1 2 -1 0.5 3 -2} 3 3 None f32[3]{0.5 1 0.5} true false false",
     "f32[3,2,2]{1.1547 0 1.29904 0 -0.144338 -1.25 -0.433013 -2 -0.144338 1.25 -0.433013 2}"},
    {"aten::stft", "c64[5]{1:-1 2:-2 -1:1 0.5:-0.5 3:-3} 4 1 2 None false None None",
     "c64[4,2]{1:-1 -0.5:0.5 -1:-3 0.5:1.5 -3:3 1.5:-1.5 3:1 -1.5:-0.5}"},
    {"aten::stft.center",
     "f64[6]{1 2 -1 0.5 3 -2} 4 2 3 f32[3]{0.5 1 0.5} true 'constant' false None true",
     "c128[3,4]{0.5:0 2:0 1.5:0 -0.5:0 -0.5:0 1:-2 -2:-0.5 1.5:2 0.5:0 -2:0 0.5:0 3.5:0}"},
    {"aten::stft.center",
     "f32[1,6]{1 2 -1 0.5 3 -2} 4 None None None true 'reflect' false None None",
     "f32[1,3,7,2]{4 0 4 0 2.5 0 4.5 0 0.5 0 4.5 0 4.5 0 -2 0 0 -2 2 -1.5 1.5 4 -4 -2.5 2.5 0 0 "
     "2.5 -4 0 "
     "4 0 -2.5 0 0.5 0 3.5 0 -7.5 0 7.5 0}"},
    {"aten::istft",
     "c64[3,4]{4:0 2.5:0 0.5:0 4.5:0 -2:0 2:-1.5 -4:-2.5 0:2.5 -4:0 -2.5:0 3.5:0 7.5:0} 4 2 None "
     "None "
     "true false None None false",
     "f32[6]{1 2 -1 0.5 3 -2}"},
    {"aten::istft",
     "f32[3,4,2]{4 0 2.5 0 0.5 0 4.5 0 -2 0 2 -1.5 -4 -2.5 0 2.5 -4 0 -2.5 0 3.5 0 7.5 0} 4 2 None "
     "None "
     "true false None 8 false",
     "f32[8]{1 2 -1 0.5 3 -2 3 0.5}"},
    {"aten::istft",
     "c128[1,2,4]{1:1 2:-1 1:1 2:-1 0:0.5 -3:0 0:0.5 -3:0} 2 1 None f32[2]{1 2} false true false "
     "None true",
     "c128[1,5]{0.707107:1.06066 0.141421:0 1.55563:-0.0707107 0.141421:0 1.76777:-0.353553}"},
};

static const opcase errors[] = {
    {"aten::fft_fft", "f32[4]{1 -2 3 0.5} 0 -1 None",
     "!Invalid number of data points (0) specified"},
    {"aten::fft_fft", "f32[4]{1 -2 3 0.5} None 1 None",
     "!Dimension out of range (expected to be in range of [-1, 0], but got 1)"},
    {"aten::fft_fft", "f32[4]{1 -2 3 0.5} None -1 'none'", "!Invalid normalization mode: \"none\""},
    {"aten::fft_fft", "f16[4]{1 -2 3 0.5} None -1 None", "!Unsupported dtype Half"},
    {"aten::fft_rfft", "c64[3]{1:2 -1:0.5 3:-1} None -1 None",
     "!rfft expects a real input tensor, but got ComplexFloat"},
    {"aten::fft_ihfft", "c64[3]{1:2 -1:0.5 3:-1} None -1 None",
     "!ihfft expects a real input tensor, but got ComplexFloat"},
    {"aten::fft_irfft", "c64[1]{1:2} None -1 None", "!Invalid number of data points (0) specified"},
    {"aten::fft_rfftn", "c64[3]{1:2 -1:0.5 3:-1} None None None",
     "!rfftn expects a real-valued input tensor, but got ComplexFloat"},
    {"aten::fft_ihfftn", "c64[3]{1:2 -1:0.5 3:-1} None None None",
     "!Expected self.is_floating_point() to be true, but got false."},
    {"aten::fft_fftn", "f32[2,3]{1 2 3 4 -5 6} None [0 0] None", "!FFT dims must be unique"},
    {"aten::fft_fftn", "f32[2,3]{1 2 3 4 -5 6} [1] [0 1] None",
     "!When given, dim and shape arguments must have the same length"},
    {"aten::fft_fftn", "f32[4]{1 -2 3 0.5} [1 1] None None",
     "!Got shape with 2 values but input tensor only has 1 dimensions."},
    {"aten::fft_rfftn", "f32[2,3]{1 2 3 4 -5 6} None [] None",
     "!rfftn must transform at least one axis"},
    {"aten::fft_fftn", "f32[2,3]{1 2 3 4 -5 6} [0] [0] None",
     "!Invalid number of data points (0) specified"},
    {"aten::_fft_c2c", "f32[4]{1 -2 3 0.5} [0] 0 true",
     "!Expected self.is_complex() to be true, but got false."},
    {"aten::_fft_c2c", "c64[3]{1:2 -1:0.5 3:-1} [0] 3 true", "!Unsupported normalization type3"},
    {"aten::_fft_c2c", "c64[3]{1:2 -1:0.5 3:-1} [-1] 0 true", "!bad axis number"},
    {"aten::_fft_c2c", "c64[3]{1:2 -1:0.5 3:-1} [0 0] 0 true", "!axis specified repeatedly"},
    {"aten::_fft_r2c", "f32[0]{} [0] 1 true",
     "!cannot reshape tensor of 0 elements into shape [-1, 0] because the unspecified dimension "
     "size "
     "-1 can be any value and is ambiguous"},
    {"aten::_fft_r2c", "f32[0,3]{} [1 0] 0 true",
     "!cannot reshape tensor of 0 elements into shape [-1, 3, 0] because the unspecified dimension "
     "size -1 can be any value and is ambiguous"},
    {"aten::_fft_c2r", "c64[0]{} [0] 1 4",
     "!cannot reshape tensor of 0 elements into shape [-1, 0] because the unspecified dimension "
     "size "
     "-1 can be any value and is ambiguous"},
    {"aten::_fft_r2c", "c64[3]{1:2 -1:0.5 3:-1} [0] 0 true",
     "!Expected self.is_floating_point() to be true, but got false."},
    {"aten::complex", "f32[4]{1 -2 3 0.5} f64[4]{1 2 -1 0}",
     "!Expected object of scalar type Float but got scalar type Double for second argument"},
    {"aten::complex", "i64[3]{1 2 3} i64[3]{1 2 3}",
     "!Expected both inputs to be Half, Float or Double tensors but got Long and Long"},
    {"aten::imag", "f32[4]{1 -2 3 0.5}",
     "!imag is not implemented for tensors with non-complex dtypes."},
    {"aten::fft_fftshift", "f32[2,3]{1 2 3 4 -5 6} [2]",
     "!Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
    {"aten::fft_fftfreq", "-1 1.0", "!Trying to create tensor with negative dimension -1: [-1]"},
    {"aten::stft", "f32[6]{1 2 -1 0.5 3 -2} 8 None None None false None true",
     "!stft(torch.FloatTensor[6], n_fft=8, hop_length=2, win_length=8, window=None, normalized=0, "
     "onesided=None, return_complex=1) : expected 0 < n_fft < 6, but got n_fft=8"},
    {"aten::stft", "f32[6]{1 2 -1 0.5 3 -2} 2 None None None false None true",
     "!stft(torch.FloatTensor[6], n_fft=2, hop_length=0, win_length=2, window=None, normalized=0, "
     "onesided=None, return_complex=1) : expected hop_length > 0, but got hop_length=0"},
    {"aten::stft", "f32[6]{1 2 -1 0.5 3 -2} 4 1 5 None false None true",
     "!stft(torch.FloatTensor[6], n_fft=4, hop_length=1, win_length=5, window=None, normalized=0, "
     "onesided=None, return_complex=1) : expected 0 < win_length <= n_fft, but got win_length=5"},
    {"aten::stft", "f32[6]{1 2 -1 0.5 3 -2} 4 1 None f32[3]{0.5 1 0.5} false None true",
     "!stft(torch.FloatTensor[6], n_fft=4, hop_length=1, win_length=4, "
     "window=torch.FloatTensor{[3]}, "
     "normalized=0, onesided=None, return_complex=1) : expected a 1D window tensor of size equal "
     "to "
     "win_length=4, but got window with size [3]"},
    {"aten::stft", "c64[6]{1:1 2:2 -1:-1 0.5:0.5 3:3 -2:-2} 4 None None None false true true",
     "!Cannot have onesided output if window or input is complex"},
    {"aten::stft", "i64[6]{1 1 1 1 1 1} 4 None None None false None true",
     "!stft(torch.LongTensor[6], n_fft=4, hop_length=1, win_length=4, window=None, normalized=0, "
     "onesided=None, return_complex=1) : expected a tensor of floating point or complex values"},
    {"aten::istft",
     "c64[3,4]{4:0 2.5:0 0.5:0 4.5:0 -2:0 2:-1.5 -4:-2.5 0:2.5 -4:0 -2.5:0 3.5:0 7.5:0} 5 None "
     "None None "
     "true false false None false",
     "!istft(CPUComplexFloatType[3, 4], n_fft=5, hop_length=1, win_length=5, window=None, "
     "center=1, "
     "normalized=0, onesided=0, length=None, return_complex=0) : expected the frequency dimension "
     "(3rd to "
     "the last) of the input tensor to match n_fft when onsided=False, but got 3"},
    {"aten::istft",
     "c64[3,4]{4:0 2.5:0 0.5:0 4.5:0 -2:0 2:-1.5 -4:-2.5 0:2.5 -4:0 -2.5:0 3.5:0 7.5:0} 4 None 2 "
     "f32[2]{0 "
     "0} true false None None false",
     "!istft(CPUComplexFloatType[3, 4], n_fft=4, hop_length=1, win_length=2, "
     "window=torch.FloatTensor{[2]}, center=1, normalized=0, onesided=None, length=None, "
     "return_complex=0) window overlap add min: 1"},
    {"aten::istft",
     "c64[3,4]{4:0 2.5:0 0.5:0 4.5:0 -2:0 2:-1.5 -4:-2.5 0:2.5 -4:0 -2.5:0 3.5:0 7.5:0} 4 None "
     "None None "
     "true false None None true",
     "!Cannot have onesided output if window or input is complex"},
    {"aten::istft",
     "c64[3,4]{4:0 2.5:0 0.5:0 4.5:0 -2:0 2:-1.5 -4:-2.5 0:2.5 -4:0 -2.5:0 3.5:0 7.5:0} 4 4 3 None "
     "true "
     "false None None false",
     "!istft(CPUComplexFloatType[3, 4], n_fft=4, hop_length=4, win_length=3, window=None, "
     "center=1, "
     "normalized=0, onesided=None, length=None, return_complex=0) : expected 0 < hop_length <= "
     "win_length"},
    {"aten::istft",
     "f32[3,4,3]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1} 4 None "
     "None "
     "None true false None None false",
     "!istft(torch.FloatTensor[3, 4, 3], n_fft=4, hop_length=1, win_length=4, window=None, "
     "center=1, "
     "normalized=0, onesided=None, length=None, return_complex=0) : expected the last dimension to "
     "be 2 "
     "(corresponding to real and imaginary parts), but got 3"},
};

/* Equal texts but for the last digits of numbers, and the sign of zero. */
static bool fft_same_text(const char *got, const char *want) {
    while (*got && *want) {
        char *g, *w;
        bool number = (*want >= '0' && *want <= '9') || *want == '-';
        double a = number ? strtod(got, &g) : 0, b = number ? strtod(want, &w) : 0;
        if (number && g != got && w != want) {
            if (fabs(a - b) > 2e-6 * (1 + fabs(b))) return false;
            got = g, want = w;
        } else if (*got++ != *want++) {
            return false;
        }
    }
    return *got == *want;
}

static void fft_rows(const opcase *cases, size_t n) {
    static counting count;
    mem_set_hook(counting_hook, &count);
    for (size_t i = 0; i < n; i++) {
        const opcase *c = &cases[i];
        strbuf got = STRBUF_INIT;
        opcase_once(c, &count, 0, &got);
        if (!fft_same_text(sb_str(&got), c->want) &&
            !(c->want[0] == '!' && strstr(sb_str(&got), c->want + 1)))
            fail_msg("%s %s\n  gives %s\n  not   %s", c->op, c->args, sb_str(&got), c->want);
        sb_clear(&got);
        long live = count.live;
        opcase_once(c, &count, 0, &got);
        long total = count.requests;
        sb_clear(&got);
        for (long k = 1; k <= total; k++) {
            ctsc_status status = opcase_once(c, &count, k, &got);
            bool fine = status == CTSC_LIMIT || (status && c->want[0] == '!') ||
                        fft_same_text(sb_str(&got), c->want);
            if (!fine || count.live != live)
                fail_msg("%s %s\n  allocation %ld of %ld fails: %s; %ld blocks left", c->op,
                         c->args, k, total, sb_str(&got), count.live - live);
            sb_clear(&got);
        }
        sb_free(&got);
    }
}
static void test_transforms(void **state) {
    (void)state;
    fft_rows(transforms, sizeof transforms / sizeof *transforms);
}
static void test_errors(void **state) {
    (void)state;
    fft_rows(errors, sizeof errors / sizeof *errors);
}

/* ---- against the definition ------------------------------------------------------------------ */

typedef struct layout {
    fft_kind kind;
    bool wide, backward, both_sides;
    int64_t n, lines, in_len;
    bool across; /* lines are interleaved: number i of all of them, then number i + 1 */
} layout;

static double fft_at(const void *p, bool wide, int64_t i) {
    return wide ? ((const double *)p)[i] : (double)((const float *)p)[i];
}

/* Numbers from -1 to 1 that repeat after no short time. */
static double fft_noise(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)*seed * 0x1p-63;
}

/* The largest difference to the sums, relative to the largest result, over one line in four. */
static double fft_error(const layout *l, const void *in, const void *out, int64_t out_len) {
    int64_t n = l->n, bins = n / 2 + 1;
    double worst = 0, most = 1e-300, *cosines = malloc((size_t)n * 2 * sizeof(double));
    for (int64_t k = 0; k < n; k++) {
        cosines[2 * k] = cos(2 * 3.14159265358979323846 * (double)k / (double)n);
        cosines[2 * k + 1] = sin(2 * 3.14159265358979323846 * (double)k / (double)n);
    }
    for (int64_t b = 0; b < l->lines; b += l->lines > 3 ? 3 : 1)
        for (int64_t k = 0; k < out_len; k += out_len > 100 ? 37 : 1) {
            double re = 0, im = 0, sign = l->backward ? 1 : -1;
            for (int64_t i = 0; i < n; i++) {
                int64_t from = l->kind == FFT_C2R && i >= bins ? n - i : i;
                int64_t at = l->across ? from * l->lines + b : b * l->in_len + from;
                double x = 0, y = 0;
                if (from < l->in_len) {
                    x = fft_at(in, l->wide, l->kind == FFT_R2C ? at : 2 * at);
                    y = l->kind == FFT_R2C ? 0 : fft_at(in, l->wide, 2 * at + 1);
                }
                if (l->kind == FFT_C2R && (from == 0 || 2 * from == n)) y = 0;
                if (l->kind == FFT_C2R && i >= bins) y = -y;
                int64_t turn = (int64_t)((__int128)i * k % n);
                double c = cosines[2 * turn],
                       s = (l->kind == FFT_C2R ? -sign : sign) * cosines[2 * turn + 1];
                re += x * c - y * s;
                im += x * s + y * c;
            }
            int64_t at = l->across ? k * l->lines + b : b * out_len + k;
            bool pairs = l->kind != FFT_C2R;
            re = fabs(re) > most ? (most = fabs(re), re) : re;
            worst = fmax(worst, fabs(re - fft_at(out, l->wide, pairs ? 2 * at : at)));
            if (pairs) worst = fmax(worst, fabs(im - fft_at(out, l->wide, 2 * at + 1)));
        }
    free(cosines);
    return worst / most;
}

static void fft_check(const layout *l) {
    int64_t n = l->n, out_len = l->kind == FFT_R2C && !l->both_sides ? n / 2 + 1 : n;
    size_t item = l->wide ? sizeof(double) : sizeof(float),
           ins = (size_t)(l->in_len * l->lines * (l->kind == FFT_R2C ? 1 : 2));
    size_t outs = (size_t)(out_len * l->lines * (l->kind == FFT_C2R ? 1 : 2));
    void *in = malloc(ins * item), *out = malloc(outs * item), *again = malloc(outs * item);
    uint64_t seed = (uint64_t)n;
    for (size_t i = 0; i < ins; i++) {
        double v = fft_noise(&seed);
        if (l->wide) ((double *)in)[i] = v;
        else ((float *)in)[i] = (float)v;
    }
    fft_job j = {.kind = l->kind,
                 .wide = l->wide,
                 .backward = l->backward,
                 .n = n,
                 .in_len = l->in_len,
                 .out_len = out_len,
                 .scale = 1,
                 .in = in,
                 .out = out,
                 .in_stride = l->across ? l->lines : 1,
                 .out_stride = l->across ? l->lines : 1,
                 .ndim = 1};
    j.sizes[0] = l->lines;
    j.in_strides[0] = l->across ? 1 : l->in_len;
    j.out_strides[0] = l->across ? 1 : out_len;
    op_ctx cx = {0};
    pool_set_threads(1);
    assert_int_equal(fft_run(&cx, &j), CTSC_OK);
    pool_set_threads(3);
    j.out = again;
    assert_int_equal(fft_run(&cx, &j), CTSC_OK);
    pool_set_threads(0);
    assert_memory_equal(out, again, outs * item);
    double error = fft_error(l, in, out, out_len);
    if (!(error < (l->wide ? 2e-14 : 1.3e-6)))
        fail_msg("kind %d, %s, n %ld, %ld lines%s, backward %d: off by %g", l->kind,
                 l->wide ? "double" : "float", (long)n, (long)l->lines, l->across ? " across" : "",
                 l->backward, error);
    free(in), free(out), free(again);
}

/* Every length up to 70, and others of every kind of plan; few lines and many, along and across. */
static void test_lengths(void **state) {
    static const int64_t more[] = {97,  121,  127,  128,  134,  143,  169,  210,  256,  360,
                                   997, 1000, 1024, 1031, 1155, 1536, 2048, 2187, 2206, 4099};
    static const int64_t lines[] = {1, 3, 8, 21};
    (void)state;
    for (int64_t i = 1; i <= 70 + (int64_t)(sizeof more / sizeof *more); i++)
        for (int v = 0; v < 24; v++) {
            layout l = {.kind = (fft_kind)(v % 3),
                        .wide = v / 3 & 1,
                        .backward = v / 6 & 1,
                        .across = v / 12 & 1};
            l.n = i <= 70 ? i : more[i - 71];
            l.lines = lines[(i + v) % 4];
            l.in_len = l.kind == FFT_C2R ? l.n / 2 + 1 : l.n;
            l.both_sides = i & 1;
            if (v % 5 == 4) l.in_len = l.in_len / 2 + 1;
            fft_check(&l);
        }
}

/* Lines that the threads share, and many of them. */
static void test_large(void **state) {
    (void)state;
    fft_check(&(layout){.kind = FFT_C2C, .n = 65536, .lines = 1, .in_len = 65536});
    fft_check(&(layout){.kind = FFT_R2C, .wide = true, .n = 30030, .lines = 2, .in_len = 30030});
    fft_check(&(layout){.kind = FFT_C2R, .wide = true, .n = 10007, .lines = 1, .in_len = 5004});
    fft_check(&(layout){.kind = FFT_C2C, .n = 1021, .lines = 300, .in_len = 1021});
    fft_check(&(layout){.kind = FFT_R2C, .n = 256, .lines = 700, .in_len = 256});
    fft_check(&(layout){
        .kind = FFT_C2C, .wide = true, .n = 100, .lines = 900, .in_len = 100, .across = true});
}

/* out= resizes and converts; parts are views. */
static void test_out_and_parts(void **state) {
    int64_t three = 3;
    tensor *out = NULL, *in = NULL;
    value r = value_none();
    op_ctx cx = {.op = op_find("aten::fft_fft.out")};
    (void)state;
    assert_int_equal(tensor_zeros(NULL, DT_COMPLEX128, 0, NULL, &out), CTSC_OK);
    assert_int_equal(tensor_zeros(NULL, DT_FLOAT32, 1, &three, &in), CTSC_OK);
    TENSOR_AT(in, float)[0] = 2;
    value args[5] = {value_tensor_take(in), value_none(), value_int(-1), value_none(),
                     value_tensor_take(out)};
    assert_int_equal(op_call(&cx, "aten::fft_fft.out", 5, args, &r), CTSC_OK);
    assert_ptr_equal(r.u.tensor, out);
    assert_int_equal(out->sizes[0], 3);
    assert_true(TENSOR_AT(out, complex128)[2].re == 2);
    value_unref(r);
    assert_int_equal(op_call(&cx, "aten::imag", 1, &args[4], &r), CTSC_OK);
    *TENSOR_AT(r.u.tensor, double) = 7;
    assert_true(TENSOR_AT(out, complex128)[0].im == 7);
    value_unref(r);
    value_unref(args[0]);
    value_unref(args[4]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transforms),    cmocka_unit_test(test_errors),
        cmocka_unit_test(test_lengths),       cmocka_unit_test(test_large),
        cmocka_unit_test(test_out_and_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
