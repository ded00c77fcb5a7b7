#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package against PyTorch: expressions evaluated with both, which must print the same, or fail with the same class of exception.

    tests/interop/python_package.py --ctsc build/ctsc [-v]

Words of errors are compared where WORDS says so. Exit code 77: there is no PyTorch, or the package has not been built (make python).
"""
import argparse
import os
import sys
import warnings

X = "T.arange(24.).reshape(2, 3, 4)"
EXPRESSIONS = """
T.tensor(3)
T.tensor(3.5)
T.tensor(True)
T.tensor([])
T.tensor([[]])
T.tensor([1, 2, 3])
T.tensor([1, 2.5])
T.tensor([[1, 2], [3, 4]], dtype=T.float64)
T.tensor([True, False])
T.tensor([1 + 2j, 3.5 - 1j])
T.tensor([1e10, 1.0])
T.tensor([1e-5, 1.0])
T.tensor([0.1, 1000.0, 12345.678])
T.tensor([float("nan"), 1.0, float("inf")])
T.tensor([float("nan")])
T.tensor([-1.5, 2.0, 100.25])
T.tensor([1.0, 2.0, 3.0])
T.tensor([1.0, 2.0, 1e9])
T.tensor([[0.5, -0.25], [1e-3, 7.0]])
T.tensor([1, 2], dtype=T.int8)
T.tensor([1.5, 2.5], dtype=T.float16)
T.tensor([1.5, 2.5], dtype=T.bfloat16)
T.zeros(2, 3)
T.zeros(0, 3)
T.zeros((2, 0), dtype=T.int32)
T.zeros([2])
T.ones(2, 2, dtype=T.bool)
T.full((2, 2), 7)
T.full((2,), 0.5)
T.empty(0)
T.arange(5)
T.arange(1, 2, 0.25)
T.arange(30)
T.arange(2000)
T.arange(2000.).reshape(40, 50)
T.linspace(0, 1, 5)
T.eye(3)
T.zeros(3, 2, 2, dtype=T.int64)
T.zeros(2, 3, requires_grad=True)
T.randn(2, 3).shape
T.randn(2, 3).size()
T.randn(2, 3).size(-1)
T.randn(2, 3).dtype
T.float32
T.int64.is_floating_point
T.float64.is_floating_point
T.device("cpu")
T.device("cuda:1")
T.device("cuda", 0)
T.zeros(1).device
T.zeros(2, 3).shape[1:]
T.zeros(2, 3).numel()
T.zeros(2, 3).stride()
T.zeros(2, 3).T.stride()
T.zeros(2, 3).T.is_contiguous()
T.zeros(2, 3).element_size()
T.zeros(2, 3).type()
X[0]
X[-1, 1]
X[0, 1, 2]
X[..., 0]
X[:, None].shape
X[None, ..., None].shape
X[:, 1:, ::2]
X[5:].shape
X[:, [0, 2]]
X[[0, 1], [1, 2]]
X[X > 20]
X[T.tensor([0, 1])].shape
X[T.tensor(1)].shape
X[T.tensor([True, False])]
X[True].shape
X[False].shape
X[(0,)].shape
X[0, ..., T.tensor([1, 1])]
X[:, T.tensor([0, 2]), T.tensor([1, 3])]
X[T.tensor([0]), :, T.tensor([1])]
X[2]
X[0, 0, 0, 0]
X[::-1]
X[1.5]
X[[0, 5]]
X[T.tensor([0.5])]
T.tensor(5)[0]
T.tensor(5)[None]
T.tensor(5)[...]
len(X)
len(T.tensor(5))
list(T.arange(3))
[int(v) for v in T.arange(3)]
X.tolist()[0][0]
X.sum()
X.sum(0)
X.sum(dim=1)
X.sum((0, 2))
X.sum(1, keepdim=True).shape
X.sum(1, True).shape
X.sum(dim=(0, 1), dtype=T.float64)
X.mean()
X.mean(-1)
X.max()
X.max(0)
X.max(dim=2, keepdim=True)
X.min(1).indices
X.argmax()
X.argmax(dim=1)
X.std()
X.var(0)
X.std(0, unbiased=False)
X.prod(2)
X.cumsum(1)
X.sort(descending=True).values[0]
X.topk(2)
X.flatten(1).shape
X.transpose(0, 2).shape
X.permute(2, 0, 1).shape
X.permute((2, 0, 1)).shape
X.view(6, 4).shape
X.view(-1).shape
X.view((4, 6)).shape
X.view(T.int32).shape
X.reshape(3, -1).shape
X.expand(5, 2, 3, 4).shape
X.repeat(2, 1, 1).shape
X.unsqueeze(1).shape
X.squeeze().shape
X.flip(0)[0, 0]
X.flip([0, 1])[0, 0]
X.roll(1, 0)[0, 0]
X.chunk(2)
X.split(2, dim=1)[1].shape
X.split([1, 2], 1)[1].shape
T.split(X, 1)[0].shape
X.unbind(1)[0]
X.clamp(2, 5)[0]
X.clamp(min=20)[1]
X.masked_fill(X > 3, -1)[0]
X.gather(2, T.zeros(2, 3, 1, dtype=T.int64)).shape
X.norm()
X.norm(dim=1)
X.norm(1, 0)
X.any()
X.all()
X.nonzero()[:3]
X.nonzero(as_tuple=True)[0]
X.to(T.int32)[0]
X.to(dtype=T.float64).dtype
X.long().dtype
X.half().dtype
X.int().type()
X.bool()[0]
X[0, 0, 1].item()
T.tensor(3).item()
T.tensor(True).item()
T.tensor(2.5).item()
float(T.tensor(2.5))
int(T.tensor(2.9))
bool(T.tensor(0))
bool(T.tensor([1, 2]))
bool(T.tensor([]))
range(10)[T.tensor(3)]
[1, 2, 3][T.tensor(1)]
[1, 2, 3][T.tensor(1.5)]
2 in T.tensor([1, 2])
T.tensor([1, 2]) + 1
1 + T.tensor([1, 2])
1 - T.tensor([1, 2])
2 * T.tensor([1.5, 2])
T.tensor([1, 2]) / 2
1 / T.tensor([1, 2])
7 // T.tensor([2, 3])
T.tensor([7, -7]) // 2
T.tensor([7, -7]) % 3
7 % T.tensor([2, 3])
2 ** T.tensor([1, 2])
T.tensor([1, 2]) ** 2
T.tensor([1., 2]) ** 0.5
-T.tensor([1, 2])
+T.tensor([1, 2])
abs(T.tensor([-1, 2]))
~T.tensor([True, False])
~T.tensor([1, 2])
T.tensor([1, 2]) & 1
T.tensor([1, 2]) | T.tensor([4, 8])
T.tensor([1, 2]) ^ 3
1 & T.tensor([1, 2])
T.tensor([1, 2]) << 2
T.tensor([16, 8]) >> 2
T.tensor([1, 2]) < 2
T.tensor([1, 2]) == T.tensor([1, 3])
T.tensor([1, 2]) != 1
T.tensor([1, 2]) == None
T.tensor([1, 2]) + "a"
T.tensor([1, 2]) + T.tensor([1, 2, 3])
T.tensor([1., 2]) @ T.tensor([3., 4])
T.tensor([1., 2]) @ 2
T.tensor([1, 2]) + 1.5
T.tensor([1, 2], dtype=T.uint8) + T.tensor([1, 2], dtype=T.int8)
T.tensor([1.], dtype=T.float16) + T.tensor(1., dtype=T.float64)
T.add(T.tensor([1, 2]), 1, alpha=2)
T.add(T.tensor([1, 2]), other=T.tensor([1, 2]))
T.add(input=T.tensor([1, 2]), other=1)
T.add(T.tensor([1, 2]), "a")
T.add()
T.add(T.tensor([1.]), T.tensor([1.]), out=T.zeros(1))
T.cat([T.zeros(1), T.ones(2)])
T.cat((T.zeros(1), T.ones(2)), dim=0)
T.cat([])
T.stack([T.zeros(2), T.ones(2)], 1)
T.where(T.tensor([True, False]), 1, 2)
T.where(T.tensor([True, False]), T.tensor([1., 2]), T.tensor([3., 4]))
T.where(T.tensor([True, False]))
T.einsum("ij,jk->ik", T.ones(2, 3), T.ones(3, 2))
T.matmul(T.ones(2, 3), T.ones(3))
T.softmax(T.tensor([1., 2, 3]), 0)
T.softmax(T.tensor([1., 2, 3]), dim=0, dtype=T.float64)
T.sigmoid(T.tensor([0.]))
T.relu(T.tensor([-1., 1]))
T.nn.functional.relu(T.tensor([-1., 1]))
T.nn.functional.softmax(T.tensor([1., 2]), dim=-1)
T.nn.functional.linear(T.ones(1, 2), T.ones(3, 2), T.ones(3))
T.nn.functional.conv2d(T.ones(1, 1, 3, 3), T.ones(1, 1, 2, 2))
T.nn.functional.max_pool2d(T.arange(16.).reshape(1, 1, 4, 4), 2)
T.nn.functional.cross_entropy(T.tensor([[1., 2, 3]]), T.tensor([1]))
T.nn.functional.pad(T.ones(1, 2), (1, 1))
T.nn.functional.interpolate(T.arange(4.).reshape(1, 1, 2, 2), scale_factor=2)
T.nn.functional.layer_norm(T.tensor([[1., 2, 4]]), (3,))
T.nn.functional.one_hot(T.tensor([0, 2]))
T.nn.functional.embedding(T.tensor([1]), T.eye(2))
T.nn.functional.gelu(T.tensor([1.]))
T.linalg.inv(T.tensor([[2., 0], [0, 4]]))
T.linalg.norm(T.tensor([3., 4]))
T.linalg.det(T.tensor([[2., 0], [0, 4]]))
T.fft.fft(T.tensor([1., 0, 0, 0]))
T.special.expit(T.tensor([0.]))
T.manual_seed(3) and T.randn(3)
T.manual_seed(3) and T.rand(2, 2)
T.manual_seed(3) and T.randint(10, (4,))
T.manual_seed(3) and T.randint(2, 10, (2, 2))
T.manual_seed(3) and T.randperm(5)
T.manual_seed(3) and T.bernoulli(T.full((4,), 0.5))
T.manual_seed(3) and T.normal(0.0, 1.0, (3,))
T.manual_seed(3) and T.nn.functional.dropout(T.ones(6), 0.5)
T.manual_seed(3) and T.multinomial(T.tensor([0.2, 0.8]), 3, replacement=True)
T.manual_seed(3) and T.zeros(3).normal_()
T.manual_seed(3) and T.zeros(3).uniform_(-1, 1)
T.manual_seed(3) and T.nn.Linear(2, 2).weight.data
T.manual_seed(3) and T.nn.Conv2d(1, 1, 2).bias.data
T.nn.Linear(2, 3)
T.nn.Sequential(T.nn.Linear(2, 3), T.nn.ReLU())
T.nn.LSTM(2, 3).eval()(T.zeros(1, 1, 2))[0].shape
T.nn.TransformerEncoderLayer(4, 2, batch_first=True).eval()(T.zeros(1, 2, 4)).shape
list(T.nn.Linear(2, 3).state_dict())
T.nn.BatchNorm2d(2).eval()(T.ones(1, 2, 1, 1)).data
T.zeros(2).new_zeros(3)
T.zeros(2).new_full((2,), 4)
T.zeros(2).new_tensor([1, 2])
T.zeros_like(T.ones(2, dtype=T.int32))
T.ones_like(T.zeros(2), dtype=T.float64)
T.full_like(T.zeros(2), 3)
T.is_tensor(T.zeros(1))
T.is_tensor(1)
T.numel(T.zeros(2, 2))
T.allclose(T.ones(2), T.ones(2) + 1e-9)
T.equal(T.ones(2), T.ones(2))
T.isnan(T.tensor([float("nan"), 1.]))
T.unique(T.tensor([3, 1, 3]))
T.unique(T.tensor([3, 1, 3]), return_counts=True)
T.meshgrid(T.arange(2), T.arange(3), indexing="ij")[0]
T.broadcast_tensors(T.zeros(2, 1), T.zeros(3))[0].shape
T.tril(T.ones(3, 3))
T.outer(T.arange(2.), T.arange(3.))
T.bincount(T.tensor([0, 1, 1]))
T.searchsorted(T.tensor([1., 2, 3]), T.tensor([2.5]))
T.histc(T.tensor([1., 2, 1]), bins=4, min=0, max=3)
T.median(T.tensor([1., 3, 2]))
T.median(T.tensor([[1., 3, 2]]), dim=1)
T.svd(T.eye(2)).S
T.complex(T.tensor([1.]), T.tensor([2.]))
T.view_as_real(T.tensor([1 + 2j]))
T.tensor([1 + 2j]).real
T.tensor([1 + 2j]).conj().resolve_conj()
T.tensor([[1, 2], [3]])
T.tensor("a")
T.tensor([1, "a"])
T.tensor([300], dtype=T.uint8)
T.tensor(None)
T.zeros(-1)
T.zeros(2).sum(3)
T.zeros(2, 3).view(7)
T.zeros(2, 3).transpose(0, 5)
T.zeros(2, 3).nope
T.zeros(2, 3).mm(T.zeros(2, 3))
T.zeros(2).unsqueeze(5)
T.zeros(2, 3).squeeze(0).shape
T.zeros(1, 3).squeeze(0).shape
T.zeros(2).expand(3)
T.Size([1, 2]).numel()
T.Size([1, 2]) + (3,)
T.result_type(T.zeros(1), 1)
T.promote_types(T.int32, T.float16)
T.can_cast(T.float32, T.int32)
T.finfo(T.float32).eps
T.iinfo(T.int16).max
T.iinfo(T.uint8).min
f"{T.tensor(1.5):.3f}"
T.zeros(2).add_(1)
T.zeros(2).fill_(3)
T.arange(4).view(2, 2).t()
T.arange(3).numpy()
T.zeros(2, dtype=T.bfloat16).numpy()
T.Tensor([1, 2])
T.Tensor(2, 3).shape
T.atleast_2d(T.tensor(1.))
T.count_nonzero(T.tensor([0, 1, 2]))
T.diff(T.tensor([1, 3, 6]))
T.logsumexp(T.tensor([1., 2]), 0)
T.quantile(T.tensor([1., 2, 3]), 0.5)
T.scatter(T.zeros(3), 0, T.tensor([1]), 5.)
T.index_select(T.arange(4), 0, T.tensor([1]))
T.take_along_dim(T.arange(4), T.tensor([1]), 0)
T.nan_to_num(T.tensor([float("nan")]))
T.bucketize(T.tensor([1.5]), T.tensor([1., 2]))
T.cdist(T.zeros(1, 2), T.ones(1, 2))
T.cross(T.tensor([1., 0, 0]), T.tensor([0., 1, 0]), dim=0)
T.kron(T.eye(2), T.ones(1, 2))
T.vander(T.tensor([1, 2]))
T.std_mean(T.tensor([1., 2, 3]))
T.aminmax(T.tensor([1., 2]))
T.frexp(T.tensor([4.]))
T.slogdet(T.eye(2))
"""
# What fails with PyTorch's very words.
WORDS = ["Dimension out of range", "too many indices", "out of bounds for dimension", "Boolean value of Tensor", "is invalid for input of size", "a Tensor with",
         "expected sequence of length", "must match the size of tensor", "len() of a 0-d"]


def evaluate(expression, library, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(eval(expression, {"T": library, "X": eval(X, {"T": library})})).replace(name + ".", "T."), None
        except Exception as e:
            return None, e


def family(e):
    for kind in (IndexError, TypeError, ValueError, AttributeError, OverflowError, NotImplementedError, RuntimeError):
        if isinstance(e, kind):
            return kind
    return type(e)


def compare(expression, torch, ctsc):
    want, failed = evaluate(expression, torch, "torch")
    got, ours = evaluate(expression, ctsc, "ctsc")
    if want is not None or got is not None:
        return (True, "") if want == got else (False, "PyTorch: %s\nctsc:    %s" % (want if want is not None else repr(failed), got if got is not None else repr(ours)))
    if not isinstance(ours, family(failed)):
        return False, "PyTorch raises %r\nctsc:          %r" % (failed, ours)
    for word in WORDS:
        if word in str(failed) and str(failed).split("\n")[0] != getattr(ours, "message", str(ours)).split("\n")[0]:
            return False, "PyTorch says %s\nctsc:        %s" % (failed, ours)
    return True, ""


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--ctsc", default="build/ctsc")
    ap.add_argument("-v", action="store_true")
    args = ap.parse_args()
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(args.ctsc)), "python"))
    try:
        import torch
        import ctsc
    except ImportError as e:
        print("skipped: %s" % e)
        return 77
    failed = 0
    expressions = [line for line in EXPRESSIONS.strip().split("\n") if line]
    for expression in expressions:
        ok, why = compare(expression, torch, ctsc)
        failed += not ok
        if not ok or args.v:
            print("%s %s\n%s" % ("ok  " if ok else "FAIL", expression, why))
    print("%d passed, %d failed" % (len(expressions) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
