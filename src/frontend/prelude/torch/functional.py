# SPDX-License-Identifier: Apache-2.0
# torch.functional: functions of the module torch that PyTorch keeps in Python. Those that are operators of TorchScript
# as well are plain names for them; the others compile to functions of their own.
import math
import warnings
from typing import Any, List, Optional, Tuple

import torch
from torch import _VF, Tensor
from torch._jit_internal import _overload as overload
from torch._jit_internal import boolean_dispatch

align_tensors = _VF.align_tensors
atleast_1d = _VF.atleast_1d
atleast_2d = _VF.atleast_2d
atleast_3d = _VF.atleast_3d
block_diag = _VF.block_diag
broadcast_tensors = _VF.broadcast_tensors
cartesian_prod = _VF.cartesian_prod
chain_matmul = _VF.chain_matmul
einsum = _VF.einsum
istft = _VF.istft
meshgrid = _VF.meshgrid
split = _VF.split


def broadcast_shapes(*shapes):
    # At compile time only, as in PyTorch.
    out = []
    for shape in shapes:
        if isinstance(shape, int):
            shape = (shape,)
        shape = list(shape)
        while len(out) < len(shape):
            out.insert(0, 1)
        for i in range(len(shape)):
            k = len(out) - len(shape) + i
            if shape[i] < 0:
                raise RuntimeError("Trying to create tensor with negative dimension ({}): ({})".format(shape[i], shape[i]))
            if out[k] == 1:
                out[k] = shape[i]
            elif shape[i] != 1 and shape[i] != out[k]:
                raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape")
    return torch.Size(out)


def stft(
    input: Tensor,
    n_fft: int,
    hop_length: Optional[int] = None,
    win_length: Optional[int] = None,
    window: Optional[Tensor] = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: Optional[bool] = None,
    return_complex: Optional[bool] = None,
) -> Tensor:
    if center:
        signal_dim = input.dim()
        extended_shape = [1] * (3 - signal_dim) + list(input.size())
        pad = int(n_fft // 2)
        input = torch._C._nn.pad(input.view(extended_shape), [pad, pad], pad_mode)
        input = input.view(input.shape[-signal_dim:])
    return _VF.stft(input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex)


# ---- unique: the number of results depends on two flags ------------------------------------------------

_unique_impl_out = Any


def _unique_impl(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> Tuple[Tensor, Tensor, Tensor]:
    if dim is not None:
        output, inverse_indices, counts = _VF.unique_dim(
            input, dim, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts
        )
    else:
        output, inverse_indices, counts = torch._unique2(
            input, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts
        )
    return output, inverse_indices, counts


def _unique_consecutive_impl(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None
) -> Tuple[Tensor, Tensor, Tensor]:
    output, inverse_indices, counts = _VF.unique_consecutive(
        input, return_inverse=return_inverse, return_counts=return_counts, dim=dim
    )
    return output, inverse_indices, counts


def _return_counts(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    # type: (Tensor, bool, bool, bool, Optional[int]) -> Tuple[Tensor, Tensor]
    output, _, counts = _unique_impl(input, sorted, return_inverse, return_counts, dim)
    return output, counts


def _return_output(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    # type: (Tensor, bool, bool, bool, Optional[int]) -> Tensor
    output, _, _ = _unique_impl(input, sorted, return_inverse, return_counts, dim)
    return output


def _return_inverse(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    # type: (Tensor, bool, bool, bool, Optional[int]) -> Tuple[Tensor, Tensor]
    output, inverse_indices, _ = _unique_impl(input, sorted, return_inverse, return_counts, dim)
    return output, inverse_indices


_return_inverse_false = boolean_dispatch(
    arg_name="return_counts",
    arg_index=3,
    default=False,
    if_true=_return_counts,
    if_false=_return_output,
    module_name=__name__,
    func_name="unique",
)

_return_inverse_true = boolean_dispatch(
    arg_name="return_counts",
    arg_index=3,
    default=False,
    if_true=_unique_impl,
    if_false=_return_inverse,
    module_name=__name__,
    func_name="unique",
)

unique = boolean_dispatch(
    arg_name="return_inverse",
    arg_index=2,
    default=False,
    if_true=_return_inverse_true,
    if_false=_return_inverse_false,
    module_name=__name__,
    func_name="unique",
)


def _consecutive_return_counts(input, return_inverse=False, return_counts=False, dim=None):
    # type: (Tensor, bool, bool, Optional[int]) -> Tuple[Tensor, Tensor]
    output, _, counts = _unique_consecutive_impl(input, return_inverse, return_counts, dim)
    return output, counts


def _consecutive_return_output(input, return_inverse=False, return_counts=False, dim=None):
    # type: (Tensor, bool, bool, Optional[int]) -> Tensor
    output, _, _ = _unique_consecutive_impl(input, return_inverse, return_counts, dim)
    return output


def _consecutive_return_inverse(input, return_inverse=False, return_counts=False, dim=None):
    # type: (Tensor, bool, bool, Optional[int]) -> Tuple[Tensor, Tensor]
    output, inverse_indices, _ = _unique_consecutive_impl(input, return_inverse, return_counts, dim)
    return output, inverse_indices


_consecutive_return_inverse_false = boolean_dispatch(
    arg_name="return_counts",
    arg_index=1,
    default=False,
    if_true=_consecutive_return_counts,
    if_false=_consecutive_return_output,
    module_name=__name__,
    func_name="unique_consecutive",
)

_consecutive_return_inverse_true = boolean_dispatch(
    arg_name="return_counts",
    arg_index=1,
    default=False,
    if_true=_unique_consecutive_impl,
    if_false=_consecutive_return_inverse,
    module_name=__name__,
    func_name="unique_consecutive",
)

unique_consecutive = boolean_dispatch(
    arg_name="return_inverse",
    arg_index=2,
    default=False,
    if_true=_consecutive_return_inverse_true,
    if_false=_consecutive_return_inverse_false,
    module_name=__name__,
    func_name="unique_consecutive",
)

# ---- products and distances ----------------------------------------------------------------------------


@overload
def tensordot(a, b, dims: int = 2, out: Optional[Tensor] = None):
    pass


@overload
def tensordot(a, b, dims: Tuple[List[int], List[int]], out: Optional[Tensor] = None):
    pass


@overload
def tensordot(a, b, dims: List[List[int]], out: Optional[Tensor] = None):
    pass


@overload
def tensordot(a, b, dims: Tensor, out: Optional[Tensor] = None):
    pass


def tensordot(a, b, dims=2, out: Optional[Tensor] = None):
    if not isinstance(dims, (tuple, list, Tensor, int)):
        raise RuntimeError(
            "tensordot expects dims to be int or Tuple[List[int], List[int]] or List[List[int]] containing two lists, "
            + f"but got dims={dims}"
        )
    dims_a: List[int] = []
    dims_b: List[int] = []
    if isinstance(dims, (tuple, list)):
        dims_a, dims_b = dims
    if isinstance(dims, Tensor):
        num_elements = dims.numel()
        if num_elements > 1:
            assert dims.size()[0] == 2
            dims_a = torch.jit.annotate(List[int], dims[0].tolist())
            dims_b = torch.jit.annotate(List[int], dims[1].tolist())
        else:
            dims_val = int(dims.item())
            if dims_val < 0:
                raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
            dims_a = list(range(-dims_val, 0))
            dims_b = list(range(dims_val))
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        dims_a = list(range(-dims, 0))
        dims_b = list(range(dims))
    if out is None:
        return _VF.tensordot(a, b, dims_a, dims_b)
    else:
        return _VF.tensordot(a, b, dims_a, dims_b, out=out)


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    # type: (Tensor, Tensor, float, str) -> Tensor
    if compute_mode == "use_mm_for_euclid_dist_if_necessary":
        return _VF.cdist(x1, x2, p, None)
    elif compute_mode == "use_mm_for_euclid_dist":
        return _VF.cdist(x1, x2, p, 1)
    elif compute_mode == "donot_use_mm_for_euclid_dist":
        return _VF.cdist(x1, x2, p, 2)
    else:
        raise ValueError("{} is not a valid value for compute_mode".format(compute_mode))


# ---- norm ----------------------------------------------------------------------------------------------


@overload
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    # type: (Tensor, str, Optional[List[int]], bool, Optional[Tensor], Optional[int]) -> Tensor
    pass


@overload
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    # type: (Tensor, Optional[number], Optional[List[int]], bool, Optional[Tensor], Optional[int]) -> Tensor
    pass


@overload
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    # type: (Tensor, Optional[number], Optional[int], bool, Optional[Tensor], Optional[int]) -> Tensor
    pass


@overload
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    # type: (Tensor, str, Optional[int], bool, Optional[Tensor], Optional[int]) -> Tensor
    pass


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    ndim = input.dim()
    # Everything at once, with the default arguments.
    if dim is None and out is None and dtype is None and p is not None:
        if isinstance(p, str):
            if p == "fro":
                return _VF.frobenius_norm(input, dim=(), keepdim=keepdim)
        if not isinstance(p, str):
            _dim = [i for i in range(ndim)]
            return _VF.norm(input, p, dim=_dim, keepdim=keepdim)
    if dim is not None:
        if isinstance(dim, int):
            _dim = [dim]
        else:
            _dim = dim
    else:
        _dim = None
    if isinstance(p, str):
        if p == "fro":
            if dtype is not None:
                raise ValueError("dtype argument is not supported in frobenius norm")
            if _dim is None:
                _dim = list(range(ndim))
            if out is None:
                return _VF.frobenius_norm(input, _dim, keepdim=keepdim)
            else:
                return _VF.frobenius_norm(input, _dim, keepdim=keepdim, out=out)
        elif p == "nuc":
            if dtype is not None:
                raise ValueError("dtype argument is not supported in nuclear norm")
            if _dim is None:
                if out is None:
                    return _VF.nuclear_norm(input, keepdim=keepdim)
                else:
                    return _VF.nuclear_norm(input, keepdim=keepdim, out=out)
            else:
                if out is None:
                    return _VF.nuclear_norm(input, _dim, keepdim=keepdim)
                else:
                    return _VF.nuclear_norm(input, _dim, keepdim=keepdim, out=out)
        raise RuntimeError(f"only valid string values are 'fro' and 'nuc', found {p}")
    else:
        if _dim is None:
            _dim = list(range(ndim))
        if out is None:
            if dtype is None:
                return _VF.norm(input, p, _dim, keepdim=keepdim)
            else:
                return _VF.norm(input, p, _dim, keepdim=keepdim, dtype=dtype)
        else:
            if dtype is None:
                return _VF.norm(input, p, _dim, keepdim=keepdim, out=out)
            else:
                return _VF.norm(input, p, _dim, keepdim=keepdim, dtype=dtype, out=out)


# ---- lu ------------------------------------------------------------------------------------------------


def _lu_impl(A, pivot=True, get_infos=False, out=None):
    # type: (Tensor, bool, bool, Any) -> Tuple[Tensor, Tensor, Tensor]
    return torch._lu_with_info(A, pivot=pivot, check_errors=(not get_infos))


def _check_list_size(out_len: int, get_infos: bool, out: List[Tensor]) -> None:
    get_infos_int = 1 if get_infos else 0
    if out_len - get_infos_int != 2:
        raise TypeError(f"expected tuple of {2 + int(get_infos)} elements but got {out_len}")
    if not isinstance(out, (tuple, list)):
        raise TypeError(f"argument 'out' must be tuple of Tensors, not {type(out).__name__}")


def _lu_with_infos(A, pivot=True, get_infos=False, out=None):
    # type: (Tensor, bool, bool, Optional[Tuple[Tensor, Tensor, Tensor]]) -> Tuple[Tensor, Tensor, Tensor]
    result = _lu_impl(A, pivot, get_infos, out)
    if out is not None:
        _check_list_size(len(out), get_infos, out)
        for i in range(len(out)):
            out[i].resize_as_(result[i]).copy_(result[i])
        return out
    else:
        return result


def _lu_no_infos(A, pivot=True, get_infos=False, out=None):
    # type: (Tensor, bool, bool, Optional[Tuple[Tensor, Tensor]]) -> Tuple[Tensor, Tensor]
    result = _lu_impl(A, pivot, get_infos, out)
    if out is not None:
        _check_list_size(len(out), get_infos, out)
        for i in range(len(out)):
            out[i].resize_as_(result[i]).copy_(result[i])
        return out
    else:
        return result[0], result[1]


lu = boolean_dispatch(
    arg_name="get_infos",
    arg_index=2,
    default=False,
    if_true=_lu_with_infos,
    if_false=_lu_no_infos,
    module_name=__name__,
    func_name="lu",
)


def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    return torch.mm(input, mat2)
