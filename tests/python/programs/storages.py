"""What tensors lie on: shared memory told by storages, bytes and elements, set_, classes of results by name, functions compiled from text."""
import io
import warnings

import torch

warnings.simplefilter("ignore")
x = torch.arange(6.0)
v = x[2:4]
untyped, typed = x.untyped_storage(), x.storage()
print(untyped.nbytes(), v.untyped_storage().nbytes(), len(untyped), untyped.size(), v.untyped_storage().data_ptr() == x.data_ptr(), v.storage_offset())
print(v.storage().size(), typed.tolist(), typed[1], typed.dtype, typed.nbytes(), typed.element_size(), untyped.element_size(), type(typed).__name__, type(untyped).__name__)
print(isinstance(untyped, torch.UntypedStorage), isinstance(typed, torch.TypedStorage), torch.is_storage(typed), torch.is_storage(untyped), torch.is_storage(x))
print(list(untyped)[:8], untyped.tolist()[4:8], untyped[6], untyped == v.untyped_storage(), untyped == x.clone().untyped_storage(), untyped.is_cuda, untyped.device, untyped._cdata != 0)
print(len({t.untyped_storage().data_ptr() for t in (x, v, x.view(2, 3), x.clone())}), untyped.clone().nbytes(), torch.UntypedStorage(8).nbytes(), typed.untyped().nbytes())
typed[0] = 9.0
print(x[0].item(), torch.FloatStorage([1.0, 2.0]).tolist(), torch.LongStorage(3).nbytes(), typed.pickle_storage_type())
print(torch.empty(0).set_(untyped, 1, (2, 2), (2, 1)), x.new().set_(typed, 0, (3,)), torch.empty(0).set_(x[1:3], 1, (2,), (1,)))
print(untyped)
y = torch.empty(0)
y.set_(x.untyped_storage())
y[5] = -1
print(x, y.shape, x.nbytes)
total = sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in torch.nn.LSTM(3, 4).state_dict().values()}.values())
print(total)
data = io.BytesIO()
torch.save({"a": x, "b": v}, data)
data.seek(0)
back = torch.load(data)
print(back["a"].untyped_storage().data_ptr() == back["b"].untyped_storage().data_ptr(), back["b"])
found = x.view(2, 3).max(1)
print(isinstance(found, torch.return_types.max), type(x.topk(2)) is torch.return_types.topk, torch.return_types.linalg_svd, isinstance(x.sort(), torch.return_types.max))
print(torch.return_types.kthvalue, type(x.kthvalue(2)), hasattr(torch.return_types, "no_such_operator"))
unit = torch.jit.CompilationUnit("""
    def double(x):
        return x * 2

    def repeated(x, n: int, more: Optional[Tensor] = None) -> Tensor:
        for _ in range(n):
            x = double(x)
        if more is not None:
            x = x + more
        return x
""")
print(unit.double(torch.ones(2)), unit.repeated(torch.ones(2), 3), unit.repeated(torch.ones(2), 1, torch.ones(2)), "aten::mul" in str(unit.double.graph))
unit.define("def last(x: List[int]) -> int:\n    return x[-1]\n")
print(unit.last([1, 2, 3]))
for bad in ("unit.missing", "unit.define('def double(x):\\n    return x\\n')", "torch.jit.CompilationUnit('def f(x):\\n    return nothing(x)\\n')"):
    try:
        eval(bad)
    except (AttributeError, RuntimeError) as e:
        print(type(e).__name__ if "nothing" not in bad else isinstance(e, RuntimeError))
