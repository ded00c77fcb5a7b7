"""Classes of exceptions, as programs show them."""
import pickle

import torch
import torch.nn.functional as F


def show(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, type(e), str(e).splitlines()[0], isinstance(e, torch.linalg.LinAlgError), isinstance(e, RuntimeError))


x = torch.arange(6.).reshape(2, 3)
show(lambda: x + torch.ones(4))
show(lambda: x.view(7))
show(lambda: x[5])
show(lambda: x["a"])
show(lambda: x.select(0, 5))
show(lambda: x.sum(7))
show(lambda: torch.zeros(0, 3).max(0))
show(lambda: torch.zeros(0, 3).argmin(0))
show(lambda: x.take(torch.tensor([99])))
show(lambda: x.gather(0, torch.tensor([[7]])))
show(lambda: x.scatter(0, torch.tensor([[9]]), 1.))
show(lambda: float(x))
show(lambda: int(x))
show(lambda: bool(x))
show(lambda: x.item())
show(lambda: x.norm("abc"))
show(lambda: x.tensor_split(2, 1))
show(lambda: x.roll(1, 0))
show(lambda: torch.linalg.cholesky(-torch.eye(2)))
show(lambda: torch.linalg.inv(torch.zeros(2, 2)))
show(lambda: torch.linalg.inv(torch.zeros(3, 2, 2)))
show(lambda: torch.linalg.solve(torch.zeros(2, 2), torch.ones(2)))
show(lambda: torch.linalg.inv(x))
show(lambda: F.cross_entropy(x, torch.tensor([0, 9])))
show(lambda: torch.ones(2, requires_grad=True).numpy())
show(lambda: x.backward())
show(lambda: x.no_such_name)
print(torch.ones(2, 3).max(1))
try:
    x.view(7)
except RuntimeError as e:
    again = pickle.loads(pickle.dumps(e))
    print(repr(e), repr(again), type(again) is RuntimeError)
