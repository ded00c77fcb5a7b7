# SPDX-License-Identifier: Apache-2.0
# What operators meant in archives of older versions. The last number is the newest archive version
# with the old meaning.

def div_Tensor_3(self: Tensor, other: Tensor) -> Tensor:
    if self.is_floating_point() or other.is_floating_point():
        r = torch.true_divide(self, other)
    else:
        r = torch.div(self, other, rounding_mode="trunc")
    return r

def div_Scalar_3(self: Tensor, other: number) -> Tensor:
    if self.is_floating_point() or isinstance(other, float):
        r = torch.true_divide(self, other)
    else:
        r = torch.div(self, other, rounding_mode="trunc")
    return r

def div_out_3(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
    if self.is_floating_point() or other.is_floating_point() or out.is_floating_point():
        r = torch.true_divide(self, other, out=out)
    else:
        r = torch.div(self, other, rounding_mode="trunc", out=out)
    return r

def div__Tensor_3(self: Tensor, other: Tensor) -> Tensor:
    if self.is_floating_point() or other.is_floating_point():
        r = self.true_divide_(other)
    else:
        r = self.div_(other, rounding_mode="trunc")
    return r

def div__Scalar_3(self: Tensor, other: number) -> Tensor:
    if self.is_floating_point() or isinstance(other, float):
        r = self.true_divide_(other)
    else:
        r = self.div_(other, rounding_mode="trunc")
    return r

def full_4(size: List[int], fill_value: number, *, dtype: Optional[int] = None, layout: Optional[int] = None, device: Optional[Device] = None, pin_memory: Optional[bool] = None) -> Tensor:
    if dtype is None:
        r = torch.full(size, float(fill_value), dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    else:
        r = torch.full(size, fill_value, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    return r

def full_out_4(size: List[int], fill_value: number, *, out: Tensor) -> Tensor:
    return torch.full(size, fill_value, out=out)

def linspace_7(start: number, end: number, steps: Optional[int] = None, *, dtype: Optional[int] = None, layout: Optional[int] = None, device: Optional[Device] = None, pin_memory: Optional[bool] = None) -> Tensor:
    if steps is None:
        r = torch.linspace(start, end, 100, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    else:
        n = unchecked_cast(int, steps)
        r = torch.linspace(start, end, n, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    return r

def logspace_8(start: number, end: number, steps: Optional[int] = None, base: float = 10.0, *, dtype: Optional[int] = None, layout: Optional[int] = None, device: Optional[Device] = None, pin_memory: Optional[bool] = None) -> Tensor:
    if steps is None:
        r = torch.logspace(start, end, 100, base, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    else:
        n = unchecked_cast(int, steps)
        r = torch.logspace(start, end, n, base, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    return r
