# SPDX-License-Identifier: Apache-2.0
# Weights of files with scales beside them (docs/convert.md).


# Blocks of 128 where the last may be shorter, else of one size.
def _block(size: int, count: int) -> int:
    if count == (size + 127) // 128:
        return 128
    if count < 1 or size % count != 0:
        torch.ops.ctsc.fail("{} scales do not divide {} elements of a weight into blocks".format(count, size))
    return size // count


# scale: one, one of each row, or one of each block; bytes are exponents of two.
def scaled_weight(weight: Tensor, scale: Tensor) -> Tensor:
    y = torch.to(weight, 6)
    s = torch.to(scale, 6)
    if scale.dtype == 0:
        s = torch.exp2(s - 127.0)
    if torch.numel(s) == 1:
        return y * torch.reshape(s, annotate(List[int], []))
    if s.dim() == 1 and y.dim() > 0:
        shape = [-1]
        for i in range(y.dim() - 1):
            shape.append(1)
        s = torch.reshape(s, shape)
    if s.dim() != y.dim():
        torch.ops.ctsc.fail("scales of {} dims for a weight of {}".format(s.dim(), y.dim()))
    for i in range(y.dim()):
        if s.size(i) != 1 and s.size(i) != y.size(i):
            block = __torch__.operators.quantized._block(y.size(i), s.size(i))
            s = torch.slice(torch.repeat_interleave(s, block, i), i, 0, y.size(i))
    return y * s
