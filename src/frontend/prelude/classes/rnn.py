# SPDX-License-Identifier: Apache-2.0
class CellParamsBase:
  packed : Capsule
  def __getstate__(self) -> Any:
    return ops.ctsc.packed_state(self)
  def __setstate__(self, state: Any) -> NoneType:
    ops.ctsc.packed_set_state(self, state)
