# SPDX-License-Identifier: Apache-2.0
# Operators, and arguments of operators, whose derivatives PyTorch does not have either: its messages, where the gradient is needed. The names of
# functions and parameters are explained in runtime/autograd/grad_rules.h. Those that have no row here and no formula give the first form.


# ---- derivative for NAME is not implemented --------------------------------------------------------


def heaviside__d_self__values(grad: Optional[Tensor]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    torch.ops.ctsc.fail("derivative for aten::heaviside is not implemented")
    return None, None


def bincount__d_weights(grad: Optional[Tensor]) -> Optional[Tensor]:
    torch.ops.ctsc.fail("derivative for aten::bincount is not implemented")
    return None


def linalg_ldl_factor__d_self(grad0: Optional[Tensor]) -> Optional[Tensor]:
    torch.ops.ctsc.fail("derivative for aten::linalg_ldl_factor_ex is not implemented")
    return None


def histogramdd__d_self__weight(grad0: Optional[Tensor]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    torch.ops.ctsc.fail("derivative for aten::_histogramdd_from_bin_cts is not implemented")
    return None, None


def histogramdd__int_bins__d_self__weight(grad0: Optional[Tensor]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    torch.ops.ctsc.fail("derivative for aten::_histogramdd_from_bin_cts is not implemented")
    return None, None


def histogramdd__TensorList_bins__d_self__weight(grad0: Optional[Tensor]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    torch.ops.ctsc.fail("derivative for aten::_histogramdd_from_bin_tensors is not implemented")
    return None, None


# ---- the derivative for 'NAME' is not implemented. -------------------------------------------------


def nextafter__d_self__other(grad: Optional[Tensor]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    torch.ops.ctsc.fail("the derivative for 'nextafter' is not implemented.")
    return None, None


def special_zeta__other_scalar__d_self(grad: Optional[Tensor]) -> Optional[Tensor]:
    torch.ops.ctsc.fail("the derivative for 'zeta' is not implemented.")
    return None


def _unique__d_self(grad0: Optional[Tensor]) -> Optional[Tensor]:
    torch.ops.ctsc.fail("the derivative for '_unique' is not implemented.")
    return None


def _unique2__d_self(grad0: Optional[Tensor]) -> Optional[Tensor]:
    torch.ops.ctsc.fail("the derivative for '_unique2' is not implemented.")
    return None


def unique_dim__d_self(grad0: Optional[Tensor]) -> Optional[Tensor]:
    torch.ops.ctsc.fail("the derivative for 'unique_dim' is not implemented.")
    return None


def unique_consecutive__d_self(grad0: Optional[Tensor]) -> Optional[Tensor]:
    torch.ops.ctsc.fail("the derivative for 'unique_consecutive' is not implemented.")
    return None


def unique_dim_consecutive__d_self(grad0: Optional[Tensor]) -> Optional[Tensor]:
    torch.ops.ctsc.fail("the derivative for 'unique_dim_consecutive' is not implemented.")
    return None


def embedding_renorm___d_self(grad: Optional[Tensor]) -> Optional[Tensor]:
    torch.ops.ctsc.fail("the derivative for 'embedding_renorm' is not implemented.")
    return None


def geqrf__d_self(grad0: Optional[Tensor], grad1: Optional[Tensor]) -> Optional[Tensor]:
    torch.ops.ctsc.fail("the derivative for 'geqrf' is not implemented.")
    return None


# ---- tensors that may not be given another shape ---------------------------------------------------


def resize___as(self: Tensor, size: List[int], memory_format: Optional[int]) -> Tensor:
    torch.ops.ctsc.fail("cannot resize variables that require grad")
    return self


def resize_as___as(self: Tensor, the_template: Tensor, memory_format: Optional[int]) -> Tensor:
    torch.ops.ctsc.fail("cannot resize variables that require grad")
    return self
