# SPDX-License-Identifier: Apache-2.0
# Derivatives of interpolation, of sampling at grids and in regions. runtime/autograd/grad_rules.h
# explains the names of functions and parameters.


# ---- interpolation ---------------------------------------------------------------------------------


def upsample_nearest1d__d_self(grad: Tensor, self_sizes: List[int], output_size: List[int], scales: Optional[float]) -> Tensor:
    return torch.upsample_nearest1d_backward(grad, output_size, self_sizes, scales)


def upsample_nearest1d__vec__as(input: Tensor, output_size: Optional[List[int]], scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input.size(), scale_factors)
    scales = __torch__.operators.resample._scales(1, scale_factors)
    return torch.upsample_nearest1d(input, size, scales[0])


def upsample_nearest2d__d_self(grad: Tensor, self_sizes: List[int], output_size: List[int], scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return torch.upsample_nearest2d_backward(grad, output_size, self_sizes, scales_h, scales_w)


def upsample_nearest2d__vec__as(input: Tensor, output_size: Optional[List[int]], scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input.size(), scale_factors)
    scales = __torch__.operators.resample._scales(2, scale_factors)
    return torch.upsample_nearest2d(input, size, scales[0], scales[1])


def upsample_nearest3d__d_self(grad: Tensor, self_sizes: List[int], output_size: List[int], scales_d: Optional[float], scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return torch.upsample_nearest3d_backward(grad, output_size, self_sizes, scales_d, scales_h, scales_w)


def upsample_nearest3d__vec__as(input: Tensor, output_size: Optional[List[int]], scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input.size(), scale_factors)
    scales = __torch__.operators.resample._scales(3, scale_factors)
    return torch.upsample_nearest3d(input, size, scales[0], scales[1], scales[2])


def _upsample_nearest_exact1d__d_self(grad: Tensor, self_sizes: List[int], output_size: List[int], scales: Optional[float]) -> Tensor:
    return torch._upsample_nearest_exact1d_backward(grad, output_size, self_sizes, scales)


def _upsample_nearest_exact1d__vec__as(input: Tensor, output_size: Optional[List[int]], scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input.size(), scale_factors)
    scales = __torch__.operators.resample._scales(1, scale_factors)
    return torch._upsample_nearest_exact1d(input, size, scales[0])


def _upsample_nearest_exact2d__d_self(grad: Tensor, self_sizes: List[int], output_size: List[int], scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return torch._upsample_nearest_exact2d_backward(grad, output_size, self_sizes, scales_h, scales_w)


def _upsample_nearest_exact2d__vec__as(input: Tensor, output_size: Optional[List[int]], scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input.size(), scale_factors)
    scales = __torch__.operators.resample._scales(2, scale_factors)
    return torch._upsample_nearest_exact2d(input, size, scales[0], scales[1])


def _upsample_nearest_exact3d__d_self(grad: Tensor, self_sizes: List[int], output_size: List[int], scales_d: Optional[float], scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return torch._upsample_nearest_exact3d_backward(grad, output_size, self_sizes, scales_d, scales_h, scales_w)


def _upsample_nearest_exact3d__vec__as(input: Tensor, output_size: Optional[List[int]], scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input.size(), scale_factors)
    scales = __torch__.operators.resample._scales(3, scale_factors)
    return torch._upsample_nearest_exact3d(input, size, scales[0], scales[1], scales[2])


def upsample_linear1d__d_self(grad: Tensor, self_sizes: List[int], output_size: List[int], align_corners: bool, scales: Optional[float]) -> Tensor:
    return torch.upsample_linear1d_backward(grad, output_size, self_sizes, align_corners, scales)


def upsample_linear1d__vec__as(input: Tensor, output_size: Optional[List[int]], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input.size(), scale_factors)
    scales = __torch__.operators.resample._scales(1, scale_factors)
    return torch.upsample_linear1d(input, size, align_corners, scales[0])


def upsample_bilinear2d__d_self(grad: Tensor, self_sizes: List[int], output_size: List[int], align_corners: bool, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return torch.upsample_bilinear2d_backward(grad, output_size, self_sizes, align_corners, scales_h, scales_w)


def upsample_bilinear2d__vec__as(input: Tensor, output_size: Optional[List[int]], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input.size(), scale_factors)
    scales = __torch__.operators.resample._scales(2, scale_factors)
    return torch.upsample_bilinear2d(input, size, align_corners, scales[0], scales[1])


def upsample_trilinear3d__d_self(grad: Tensor, self_sizes: List[int], output_size: List[int], align_corners: bool, scales_d: Optional[float], scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return torch.upsample_trilinear3d_backward(grad, output_size, self_sizes, align_corners, scales_d, scales_h, scales_w)


def upsample_trilinear3d__vec__as(input: Tensor, output_size: Optional[List[int]], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input.size(), scale_factors)
    scales = __torch__.operators.resample._scales(3, scale_factors)
    return torch.upsample_trilinear3d(input, size, align_corners, scales[0], scales[1], scales[2])


def upsample_bicubic2d__d_self(grad: Tensor, self_sizes: List[int], output_size: List[int], align_corners: bool, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return torch.upsample_bicubic2d_backward(grad, output_size, self_sizes, align_corners, scales_h, scales_w)


def upsample_bicubic2d__vec__as(input: Tensor, output_size: Optional[List[int]], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input.size(), scale_factors)
    scales = __torch__.operators.resample._scales(2, scale_factors)
    return torch.upsample_bicubic2d(input, size, align_corners, scales[0], scales[1])


def _upsample_bilinear2d_aa__d_self(grad: Tensor, self_sizes: List[int], output_size: List[int], align_corners: bool, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return torch._upsample_bilinear2d_aa_backward(grad, output_size, self_sizes, align_corners, scales_h, scales_w)


def _upsample_bilinear2d_aa__vec__as(input: Tensor, output_size: Optional[List[int]], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input.size(), scale_factors)
    scales = __torch__.operators.resample._scales(2, scale_factors)
    return torch._upsample_bilinear2d_aa(input, size, align_corners, scales[0], scales[1])


def _upsample_bicubic2d_aa__d_self(grad: Tensor, self_sizes: List[int], output_size: List[int], align_corners: bool, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    return torch._upsample_bicubic2d_aa_backward(grad, output_size, self_sizes, align_corners, scales_h, scales_w)


def _upsample_bicubic2d_aa__vec__as(input: Tensor, output_size: Optional[List[int]], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input.size(), scale_factors)
    scales = __torch__.operators.resample._scales(2, scale_factors)
    return torch._upsample_bicubic2d_aa(input, size, align_corners, scales[0], scales[1])


def _upsample_lanczos2d_aa__d_self(grad: Tensor, self_sizes: List[int], output_size: List[int], align_corners: bool, scales_h: Optional[float], scales_w: Optional[float]) -> Tensor:
    scales = annotate(List[Optional[float]], [scales_h, scales_w])
    return __torch__.operators.resample._interpolated("lanczos_aa", grad, output_size, self_sizes, align_corners, scales)


def _upsample_lanczos2d_aa__vec__as(input: Tensor, output_size: Optional[List[int]], align_corners: bool, scale_factors: Optional[List[float]]) -> Tensor:
    size = __torch__.operators.resample._output_size(output_size, input.size(), scale_factors)
    scales = __torch__.operators.resample._scales(2, scale_factors)
    return torch._upsample_lanczos2d_aa(input, size, align_corners, scales[0], scales[1])


def _resize(input: Tensor, size: Optional[List[int]], scale: Optional[List[float]], mode: str, align_corners: Optional[bool], recompute: Optional[bool], antialias: bool) -> Tensor:
    align = False
    if align_corners is not None:
        align = align_corners
    if scale is not None:
        anew = mode == "area"
        if recompute is not None:
            anew = anew or recompute
        if anew:
            sizes = __torch__.operators.resample._output_size(size, input.size(), scale)
            return __torch__.derivatives.sampling._resized(input, sizes, None, mode, align, antialias)
    return __torch__.derivatives.sampling._resized(input, size, scale, mode, align, antialias)


def _resized(input: Tensor, size: Optional[List[int]], scale: Optional[List[float]], mode: str, align: bool, antialias: bool) -> Tensor:
    n = input.dim() - 2
    if mode == "nearest":
        if n == 1:
            return torch.upsample_nearest1d(input, size, scale)
        elif n == 2:
            return torch.upsample_nearest2d(input, size, scale)
        elif n == 3:
            return torch.upsample_nearest3d(input, size, scale)
    elif mode == "nearest-exact":
        if n == 1:
            return torch._upsample_nearest_exact1d(input, size, scale)
        elif n == 2:
            return torch._upsample_nearest_exact2d(input, size, scale)
        elif n == 3:
            return torch._upsample_nearest_exact3d(input, size, scale)
    elif mode == "area" and size is not None:
        if n == 1:
            return torch.adaptive_avg_pool1d(input, size)
        elif n == 2:
            return torch.adaptive_avg_pool2d(input, size)
        elif n == 3:
            return torch.adaptive_avg_pool3d(input, size)
    elif mode == "linear" and n == 1:
        return torch.upsample_linear1d(input, size, align, scale)
    elif mode == "bilinear" and n == 2:
        if antialias:
            return torch._upsample_bilinear2d_aa(input, size, align, scale)
        return torch.upsample_bilinear2d(input, size, align, scale)
    elif mode == "bicubic" and n == 2:
        if antialias:
            return torch._upsample_bicubic2d_aa(input, size, align, scale)
        return torch.upsample_bicubic2d(input, size, align, scale)
    elif mode == "trilinear" and n == 3:
        return torch.upsample_trilinear3d(input, size, align, scale)
    torch.ops.ctsc.fail("Input Error: Only 3D, 4D and 5D input Tensors supported (got {}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | area | nearest-exact (got {})".format(input.dim(), mode))
    return input


def _sizes_of(input: Tensor, size: Optional[int]) -> Optional[List[int]]:
    result: Optional[List[int]] = None
    if size is not None:
        result = [size] * (input.dim() - 2)
    return result


def _factors_of(input: Tensor, scale: Optional[float]) -> Optional[List[float]]:
    result: Optional[List[float]] = None
    if scale is not None:
        result = [scale] * (input.dim() - 2)
    return result


def _float_factors(input: Tensor, scale: Optional[List[int]]) -> Optional[List[float]]:
    result: Optional[List[float]] = None
    if scale is not None:
        factors: List[float] = []
        for factor in scale:
            factors.append(float(factor))
        result = factors
    return result


def _float_factor(input: Tensor, scale: Optional[int]) -> Optional[List[float]]:
    result: Optional[List[float]] = None
    if scale is not None:
        result = [float(scale)] * (input.dim() - 2)
    return result


def __interpolate__as(input: Tensor, size: Optional[int], scale_factor: Optional[float], mode: str, align_corners: Optional[bool], recompute_scale_factor: Optional[bool], antialias: bool) -> Tensor:
    return __torch__.derivatives.sampling._resize(input, __torch__.derivatives.sampling._sizes_of(input, size), __torch__.derivatives.sampling._factors_of(input, scale_factor), mode, align_corners, recompute_scale_factor, antialias)


def __interpolate__scale_list__as(input: Tensor, size: Optional[int], scale_factor: Optional[List[float]], mode: str, align_corners: Optional[bool], recompute_scale_factor: Optional[bool], antialias: bool) -> Tensor:
    return __torch__.derivatives.sampling._resize(input, __torch__.derivatives.sampling._sizes_of(input, size), scale_factor, mode, align_corners, recompute_scale_factor, antialias)


def __interpolate__size_list__as(input: Tensor, size: Optional[List[int]], scale_factor: Optional[float], mode: str, align_corners: Optional[bool], recompute_scale_factor: Optional[bool], antialias: bool) -> Tensor:
    return __torch__.derivatives.sampling._resize(input, size, __torch__.derivatives.sampling._factors_of(input, scale_factor), mode, align_corners, recompute_scale_factor, antialias)


def __interpolate__size_list_scale_list__as(input: Tensor, size: Optional[List[int]], scale_factor: Optional[List[float]], mode: str, align_corners: Optional[bool], recompute_scale_factor: Optional[bool], antialias: bool) -> Tensor:
    return __torch__.derivatives.sampling._resize(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)


def __upsample__as(input: Tensor, size: Optional[int], scale_factor: Optional[int], mode: str, align_corners: Optional[bool]) -> Tensor:
    return __torch__.derivatives.sampling._resize(input, __torch__.derivatives.sampling._sizes_of(input, size), __torch__.derivatives.sampling._float_factor(input, scale_factor), mode, align_corners, None, False)


def __upsample_nearest__as(input: Tensor, size: Optional[int], scale_factor: Optional[int]) -> Tensor:
    return __torch__.derivatives.sampling._resize(input, __torch__.derivatives.sampling._sizes_of(input, size), __torch__.derivatives.sampling._float_factor(input, scale_factor), "nearest", None, None, False)


def __upsample__size_list__as(input: Tensor, size: Optional[List[int]], scale_factor: Optional[int], mode: str, align_corners: Optional[bool]) -> Tensor:
    return __torch__.derivatives.sampling._resize(input, size, __torch__.derivatives.sampling._float_factor(input, scale_factor), mode, align_corners, None, False)


def __upsample_nearest__size_list__as(input: Tensor, size: Optional[List[int]], scale_factor: Optional[int]) -> Tensor:
    return __torch__.derivatives.sampling._resize(input, size, __torch__.derivatives.sampling._float_factor(input, scale_factor), "nearest", None, None, False)


def __upsample_bilinear__as(input: Tensor, size: Optional[int], scale_factor: Optional[int]) -> Tensor:
    return __torch__.derivatives.sampling._resize(input, __torch__.derivatives.sampling._sizes_of(input, size), __torch__.derivatives.sampling._float_factor(input, scale_factor), "bilinear", True, None, False)


def __upsample_bilinear__size_list__as(input: Tensor, size: Optional[List[int]], scale_factor: Optional[int]) -> Tensor:
    return __torch__.derivatives.sampling._resize(input, size, __torch__.derivatives.sampling._float_factor(input, scale_factor), "bilinear", True, None, False)


def __upsample_bilinear__scale_list__as(input: Tensor, size: Optional[int], scale_factor: Optional[List[int]]) -> Tensor:
    return __torch__.derivatives.sampling._resize(input, __torch__.derivatives.sampling._sizes_of(input, size), __torch__.derivatives.sampling._float_factors(input, scale_factor), "bilinear", True, None, False)


def __upsample_bilinear__size_list_scale_list__as(input: Tensor, size: Optional[List[int]], scale_factor: Optional[List[int]]) -> Tensor:
    return __torch__.derivatives.sampling._resize(input, size, __torch__.derivatives.sampling._float_factors(input, scale_factor), "bilinear", True, None, False)
