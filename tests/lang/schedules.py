# A group for each schedule of src/codegen/lower/plan/group_plan.h. Whole numbers: sums are the same in every order, at every level.
# args: --input float32[40,30]:ones --input float32[3,70000]:ones --input float32[300,400]:ones --input float32[70000,3]:ones
import torch


def elements(x):
    return ((x * 2 + 1).relu() - x).abs()


def narrow(x, y):
    return (x + y).relu() - x


def beside(x, y):
    z = x * 2
    return z, z * y


def tiles(x, y):
    return (x + y.t()).relu() - x


def in_place(x):
    return ((x[1:3] + 1) * 2).sum(0)


def rows(x):
    y = x + 1
    return (y - y.amax(1, True)).sum(1)


def long_rows(x):
    y = x + 2
    return (y * y).sum(1)


def blocks(x):
    y = x - 1
    return (y * y).sum()


def columns(x):
    y = x * 3
    return (y - y.amin(0, True)).sum(0)


def long_columns(x):
    y = x * 5
    return (y + 1).sum(0)


def loop(x):
    y = torch.zeros_like(x)
    for i in range(x.size(0)):
        for j in range(x.size(1)):
            y[i, j] = x[i, j] * 2 + i
    return y


def whole(x):
    return ((torch.arange(x.numel()) * 7) % 23 - 11).float().reshape(x.shape)


def show(x):
    print(x.dim(), int(x.sum()), int(x.flatten()[0]), int((x.flatten() * (torch.arange(x.numel()) % 5)).sum()))


def forward(small, long, wide, tall):
    for i in range(3):  # the second call of a group makes its kernel
        s, l, w, t, u = whole(small) + i, whole(long) + i, whole(wide) + i, whole(tall) + i, whole(wide.t()) - i
        a, b = beside(w[:, :1], w)
        for y in [elements(s), narrow(t, t[0]), a, b, tiles(w, u), in_place(w), rows(s), long_rows(l), blocks(w), columns(s), columns(w),
                  long_columns(t), loop(s)]:
            if i == 2:
                show(y)
    return 0
# expect: 2 7830 9 15665
# expect: 2 331738 9 663483
# expect: 2 1178 -18 2378
# expect: 2 949720 162 1848366
# expect: 2 219701 9 439775
# expect: 1 4812 24 9622
# expect: 1 -13202 -329 -26564
# expect: 1 12599992 4199968 12600037
# expect: 0 5400000 5400000 0
# expect: 1 39594 1293 79425
# expect: 1 3959976 9867 7920192
# expect: 1 2309990 769995 2309955
# expect: 2 28196 -18 56550
# expect: 0
