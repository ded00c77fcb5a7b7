"""Functions in functions, lambdas, functions given what is not a value, *args: bodies compiled anew for a call."""
import torch
import torch.nn.functional as F
from torch import nn

scale = lambda x, *args, **kwargs: x.mul(*args, **kwargs)


def apply_all(x, *fs):
    for f in fs:
        x = f(x)
    return x


def passing(fn, *args, **kwargs):
    return fn(*args, **kwargs)


def shifted(x, by=1, twice=False):
    if twice:
        by = by * 2
    return x + by


def depth(x, n, kind):
    if n == 0:
        return x
    if kind == "add":
        return depth(x + 1, n - 1, "mul")
    return depth(x * 2, n - 1, "add")


def first(x, want):
    if want is None:
        return x
    return x, want


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.Identity()

    def forward(self, x, sublayer):
        return x + sublayer(self.norm(x))


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        self.res = Residual()
        self.double = nn.Threshold(0.0, 0.0)
        self.convs = nn.ModuleList([nn.Identity(), nn.Threshold(2.0, 7.0)])

    def twice(self, x):
        return x * 2

    def run(self, x, func):
        return func(x) + 1

    def repeat(self, x, func, n: int):
        for i in range(n):
            x = func(x)
            if float(x[0]) > 20.0:
                break
        k = 0
        while k < 3:
            k += 1
            if k == 2:
                continue
            x = x + k
        return x

    def forward(self):
        x = torch.ones(2)
        k = 2

        def plus(y, n=5):
            def inner(z):
                return z + n * k

            if n > 3:
                return inner(y)
            return y

        print(float(plus(x).sum()), float(plus(x, 1).sum()))  # expect: 22. 2.
        k = 3
        print(float(plus(x, n=4).sum()))  # expect: 26.
        print(float(self.res(x, lambda t: self.twice(t) + k).sum()))  # expect: 12.
        print(float(self.res(x, self.double).sum()), float(self.res(x, F.relu).sum()))  # expect: 4. 4.
        print(float(self.run(x, self.twice).sum()), float(self.run(x, torch.neg).sum()))  # expect: 6. 0.
        print(float(apply_all(x, torch.neg, self.twice, lambda t: t - 1).sum()))  # expect: -6.
        print(float(scale(x, 4).sum()), float(scale(x, other=3).sum()))  # expect: 8. 6.
        print(float(passing(shifted, x, by=3, twice=True).sum()))  # expect: 14.
        print(float(depth(x, 3, "add").sum()))  # expect: 10.
        a, b = first(x, 3)
        print(float(first(x, None).sum()), float(a.sum()), b)  # expect: 2. 2. 3
        y = x
        for i in range(2):
            y = self.run(y, self.convs[i])
        print(float(y[0]))  # expect: 8.
        z = x
        for _ in range(int(x.sum())):  # at run time
            z = plus(z, 4) if float(z.sum()) < 20.0 else plus(z, 1)
        print(float(z[0]))  # expect: 13.
        for n in range(int(x.sum()) + 4):  # loops in loops
            z = self.repeat(x, lambda t: t * 2 + n, n)
            if n == 4:
                break
        print(float(z[0]), float(self.repeat(x, torch.neg, 1)[0]))  # expect: 40. 3.
        i = 10
        add = lambda t: t + i
        print([float(add(x)[0]) for i in range(2)])  # expect: [11., 11.]
        return 0
# expect: 0
