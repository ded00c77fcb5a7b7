# SPDX-License-Identifier: Apache-2.0
# quantized.py - packed weights of quantised layers, as archives name them. Classes of TorchScript do not inherit: what two of them have in common
# is in both.
class LinearPackedParamsBase:
  packed : Capsule
  def __getstate__(self) -> Any:
    return ops.ctsc.packed_state(self)
  def __setstate__(self, state: Any) -> NoneType:
    ops.ctsc.packed_set_state(self, state)
  def unpack(self) -> Tuple[Tensor, Optional[Tensor]]:
    weight, bias = ops.ctsc.packed_unpack(self)
    return (weight, bias)
  def bias(self) -> Optional[Tensor]:
    weight, bias = ops.ctsc.packed_unpack(self)
    return bias


class Conv2dPackedParamsBase:
  packed : Capsule
  def __getstate__(self) -> Any:
    return ops.ctsc.packed_state(self)
  def __setstate__(self, state: Any) -> NoneType:
    ops.ctsc.packed_set_state(self, state)
  def weight(self) -> Tensor:
    weight, bias = ops.ctsc.packed_unpack(self)
    return weight
  def bias(self) -> Optional[Tensor]:
    weight, bias = ops.ctsc.packed_unpack(self)
    return bias
  def unpack(self) -> Tuple[Tensor, Optional[Tensor]]:
    weight, bias = ops.ctsc.packed_unpack(self)
    return (weight, bias)
  def stride(self) -> List[int]:
    return ops.quantized.conv2d_stride(self)
  def padding(self) -> List[int]:
    return ops.quantized.conv2d_padding(self)
  def output_padding(self) -> List[int]:
    return ops.quantized.conv2d_output_padding(self)
  def dilation(self) -> List[int]:
    return ops.quantized.conv2d_dilation(self)
  def groups(self) -> int:
    return ops.quantized.conv2d_groups(self)
  def transpose(self) -> bool:
    return ops.quantized.conv2d_transpose(self) != 0


class Conv3dPackedParamsBase:
  packed : Capsule
  def __getstate__(self) -> Any:
    return ops.ctsc.packed_state(self)
  def __setstate__(self, state: Any) -> NoneType:
    ops.ctsc.packed_set_state(self, state)
  def weight(self) -> Tensor:
    weight, bias = ops.ctsc.packed_unpack(self)
    return weight
  def bias(self) -> Optional[Tensor]:
    weight, bias = ops.ctsc.packed_unpack(self)
    return bias
  def unpack(self) -> Tuple[Tensor, Optional[Tensor]]:
    weight, bias = ops.ctsc.packed_unpack(self)
    return (weight, bias)
  def stride(self) -> List[int]:
    return ops.quantized.conv3d_stride(self)
  def padding(self) -> List[int]:
    return ops.quantized.conv3d_padding(self)
  def output_padding(self) -> List[int]:
    return ops.quantized.conv3d_output_padding(self)
  def dilation(self) -> List[int]:
    return ops.quantized.conv3d_dilation(self)
  def groups(self) -> int:
    return ops.quantized.conv3d_groups(self)
  def transpose(self) -> bool:
    return ops.quantized.conv3d_transpose(self) != 0


class EmbeddingPackedParamsBase:
  packed : Capsule
  def __getstate__(self) -> Any:
    return ops.ctsc.packed_state(self)
  def __setstate__(self, state: Any) -> NoneType:
    ops.ctsc.packed_set_state(self, state)
  def bit_rate(self) -> int:
    return ops.ctsc.packed_bit_rate(self)
  def version(self) -> int:
    return 1
