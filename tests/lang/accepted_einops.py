"""Calls of einops' functions in compiled code; einops 0.8.2 prints the same."""
import torch
from einops import einsum, pack, parse_shape, rearrange, reduce, repeat, unpack


def show(x: torch.Tensor):
    print(list(x.shape), int((x.flatten() * (torch.arange(x.numel()) % 7 - 2)).sum()))


def named():
    # Names of axes that the function made of a pattern could use for something else
    x = torch.arange(240.0).view(2, 3, 4, 10) % 11 - 4
    k = x.size(0)
    show(rearrange(x, '... (n d) -> ... d n', n=k))  # expect: [2, 3, 4, 5, 2] 287
    show(rearrange(x, 'x ... (wide rest) -> (x wide) rest ...', wide=k))  # expect: [4, 5, 3, 4] 151
    show(rearrange(x, 'a b c (x y) -> a (y b c) x', x=5, y=k))  # expect: [2, 24, 5] 193
    show(reduce(x, '... (tensors n) -> tensors', 'sum', n=k))  # expect: [5] 58


def forward():
    named()
    x = torch.arange(240.0).view(2, 3, 4, 10) % 11 - 4
    y = torch.arange(30.0).view(10, 3)
    show(rearrange(x, 'a b c d -> d c b a'))  # expect: [10, 4, 3, 2] 183
    show(rearrange(x, 'a b (c1 c2) d -> a (b c1) d c2', c1=2))  # expect: [2, 6, 10, 2] 185
    show(rearrange(x, '(a1 a2) b c d -> a2 (a1 b) (c d)', a2=2))  # expect: [2, 3, 40] 242
    show(rearrange(x, 'a b c d -> (a b c d)'))  # expect: [240] 242
    show(rearrange(x, 'a ... -> ... a'))  # expect: [3, 4, 10, 2] 200
    show(rearrange(x, '... d -> d (...)'))  # expect: [10, 24] 258
    show(rearrange(x, 'a ... (d1 d2) -> d1 a ... d2', d2=5))  # expect: [2, 2, 3, 4, 5] 162
    show(rearrange(x, 'a b ... -> (b a) ...'))  # expect: [6, 4, 10] 315
    show(rearrange(x, 'a b c d -> a 1 b () c d'))  # expect: [2, 1, 3, 1, 4, 10] 242
    show(rearrange(x, '... -> ...'))  # expect: [2, 3, 4, 10] 242
    show(rearrange(x, 'a b c d -> a b c d'))  # expect: [2, 3, 4, 10] 242
    show(repeat(x, 'a b c d -> a r b c d', r=2))  # expect: [2, 2, 3, 4, 10] 429
    show(repeat(x, 'a b c d -> a b (c r) (s d)', r=2, s=3))  # expect: [2, 3, 8, 30] 1348
    show(repeat(x, 'a b c d -> a b c d 2'))  # expect: [2, 3, 4, 10, 2] 471
    show(repeat(x, '... d -> ... (d 3)'))  # expect: [2, 3, 4, 30] 715
    show(reduce(x, 'a b c d -> a d', 'sum'))  # expect: [2, 10] 201
    show(reduce(x, 'a b c d -> a d', 'mean'))  # expect: [2, 10] 16
    show(reduce(x, 'a b c d -> a d', 'max'))  # expect: [2, 10] 102
    show(reduce(x, 'a b c d -> a d', 'prod'))  # expect: [2, 10] 0
    show(reduce(x, 'a b (c 2) d -> a b c', 'sum'))  # expect: [2, 3, 2] 148
    show(reduce(x, 'a b (c 2) d -> a b c', 'mean'))  # expect: [2, 3, 2] 7
    show(reduce(x, 'a b (c 2) d -> a b c', 'max'))  # expect: [2, 3, 2] 42
    show(reduce(x, 'a b (c 2) d -> a b c', 'prod'))  # expect: [2, 3, 2] 0
    show(reduce(x, 'a (b1 b2) ... -> b1 a', 'sum', b1=3))  # expect: [3, 2] 178
    show(reduce(x, 'a (b1 b2) ... -> b1 a', 'mean', b1=3))  # expect: [3, 2] 4
    show(reduce(x, 'a (b1 b2) ... -> b1 a', 'max', b1=3))  # expect: [3, 2] 18
    show(reduce(x, 'a (b1 b2) ... -> b1 a', 'prod', b1=3))  # expect: [3, 2] 0
    show(reduce(x, '... d -> d', 'sum'))  # expect: [10] 84
    show(reduce(x, '... d -> d', 'mean'))  # expect: [10] 3
    show(reduce(x, '... d -> d', 'max'))  # expect: [10] 24
    show(reduce(x, '... d -> d', 'prod'))  # expect: [10] 0
    show(reduce(x, 'a b c d -> ', 'sum'))  # expect: [] -462
    show(reduce(x, 'a b c d -> ', 'mean'))  # expect: [] -1
    show(reduce(x, 'a b c d -> ', 'max'))  # expect: [] -12
    show(reduce(x, 'a b c d -> ', 'prod'))  # expect: [] 0
    show(reduce(x, 'a b c d -> a 1 c d', 'sum'))  # expect: [2, 1, 4, 10] 222
    show(reduce(x, 'a b c d -> a 1 c d', 'mean'))  # expect: [2, 1, 4, 10] 74
    show(reduce(x, 'a b c d -> a 1 c d', 'max'))  # expect: [2, 1, 4, 10] 341
    show(reduce(x, 'a b c d -> a 1 c d', 'prod'))  # expect: [2, 1, 4, 10] -783
    show(reduce(x, 'a b c d -> (a b)', 'sum'))  # expect: [6] 148
    show(reduce(x, 'a b c d -> (a b)', 'mean'))  # expect: [6] 3
    show(reduce(x, 'a b c d -> (a b)', 'max'))  # expect: [6] 18
    show(reduce(x, 'a b c d -> (a b)', 'prod'))  # expect: [6] 0
    show(rearrange([x, x * 2], 'l a b c d -> a l (b c d)'))  # expect: [2, 2, 120] 619
    show(reduce(list(x.unbind(1)), 'l a c d -> l d', 'min'))  # expect: [3, 10] 3
    show(einsum(x, y, 'batch i j dim, dim out -> batch out j'))  # expect: [2, 3, 4] 8906
    show(einsum(x, '... k -> ...'))  # expect: [2, 3, 4] 188
    h = x.size(1)
    show(rearrange(x, 'a (h k) c d -> a h (k c) d', h=h))  # expect: [2, 3, 4, 10] 242
    show(repeat(x[:1, :1, :1], '1 1 1 d -> h d', h=h))  # expect: [3, 10] 15
    sizes = parse_shape(x, 'a b _ d')
    print(sizes['a'], sizes['d'], len(sizes), parse_shape(x, '... 4 w')['w'])  # expect: 2 10 3 10
    packed, shapes = pack([x, x[:, :, 0], y.new_ones(2, 3, 2, 2, 10)], 'a b * d')
    print(shapes)  # expect: [[4], [], [2, 2]]
    show(packed)  # expect: [2, 3, 9, 10] 508
    p, q, r = unpack(packed, shapes, 'a b * d')
    show(p - x + r.sum(2)[:, :, :1])  # expect: [2, 3, 4, 10] 470
    show(unpack(y, [[2, 3], [-1, 2]], '* k')[1])  # expect: [2, 2, 3] 185
# expect: None
