"""NumPy both ways: shared memory, dtypes, strides, preprocessing of a table without pandas, ufuncs, DLPack, buffers, saving .npy."""
import array
import csv
import ctypes
import io

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.dlpack import from_dlpack, to_dlpack

a = np.arange(6, dtype=np.float32).reshape(2, 3)
t = torch.from_numpy(a)
t[0, 0] = 10
a[1, 2] = -1
print(t, a, t.numpy() is a, t.numpy().ctypes.data == t.data_ptr(), t.numpy().strides)
print(torch.tensor(a).data_ptr() != t.data_ptr(), torch.as_tensor(a).data_ptr() == t.data_ptr(), torch.asarray(a).dtype)
for dtype in ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool", "complex64", "complex128"):
    v = torch.from_numpy(np.ones(2, dtype=dtype))
    print(dtype, v.dtype, v.numpy().dtype, v.element_size())
print(torch.from_numpy(a.T).stride(), torch.from_numpy(a[:, ::2]).stride(), torch.from_numpy(a[:, ::2]).numpy().strides)
print(np.asarray(t).sum(), np.add(t.numpy(), 1).dtype, np.array(t.int()).dtype, np.mean(t.numpy(), axis=0))
print(torch.tensor(np.float64(2.5)), torch.tensor([np.int32(1), np.int32(2)]).dtype, torch.tensor(np.array([True])), torch.ones(2) * np.float32(3), torch.arange(np.int64(3)))
print(float(np.float32(1) + torch.tensor(2.0)), torch.zeros(np.int64(2), 3).shape, t[np.array([1, 0])].tolist(), t[np.int64(0)], t[np.array([[True, False, True], [False, True, False]])])
g = torch.ones(2, requires_grad=True)
try:
    g.numpy()
except RuntimeError as e:
    print(e)
print(g.detach().numpy(), torch.ones(2, dtype=torch.bfloat16).float().numpy(), torch.tensor(1.5).numpy(), torch.tensor(1.5).item())
n = torch.from_dlpack(np.arange(3))
d = np.from_dlpack(torch.arange(4.0))
print(n, d, from_dlpack(to_dlpack(torch.eye(2))), torch.ones(3).__dlpack_device__())
print(torch.frombuffer(array.array("f", [1.0, 2.0, 3.0]), dtype=torch.float32), torch.frombuffer(bytearray(b"\x01\x02\x03\x04"), dtype=torch.uint8, offset=1, count=2))
buffer = io.BytesIO()
np.save(buffer, torch.arange(3).numpy())
buffer.seek(0)
print(torch.from_numpy(np.load(buffer)), memoryview(torch.arange(3).numpy()).nbytes)

table = """id,city,area,rooms,date,price
1,Rome,70.5,3,2021-03-01,210
2,Oslo,,2,2020-07-15,310
3,Rome,45.0,1,2021-11-30,150
4,Lima,120.0,5,2019-01-20,180
5,Oslo,88.0,4,2022-05-05,420
"""
rows = list(csv.DictReader(io.StringIO(table)))
area = np.array([float(r["area"] or "nan") for r in rows])
area = np.where(np.isnan(area), np.nanmean(area), area)
cities, codes = np.unique([r["city"] for r in rows], return_inverse=True)
month = np.array([int(r["date"][5:7]) for r in rows])
season = torch.from_numpy(np.stack([np.sin(2 * np.pi * month / 12), np.cos(2 * np.pi * month / 12)], 1)).float()
onehot = torch.nn.functional.one_hot(torch.from_numpy(codes), len(cities)).float()
numeric = torch.tensor(np.column_stack([area, [int(r["rooms"]) for r in rows]]), dtype=torch.float32)
numeric = (numeric - numeric.mean(0)) / numeric.std(0, unbiased=False)
x = torch.hstack([numeric, onehot, season])
y = torch.tensor([float(r["price"]) for r in rows]).log().unsqueeze(1)
print(cities.tolist(), x.shape, x[1], y.squeeze())
torch.manual_seed(0)
model = torch.nn.Linear(x.shape[1], 1)
opt = torch.optim.Adagrad(model.parameters(), lr=0.5)
for epoch in range(4):
    for xb, yb in DataLoader(TensorDataset(x, y), batch_size=2):
        loss = torch.nn.functional.huber_loss(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("%.4f" % loss)
batch = torch.utils.data.default_collate([{"a": np.ones(2, np.float32), "b": np.float64(1)}, {"a": np.zeros(2, np.float32), "b": np.float64(2)}])
print(batch)
images = torch.from_numpy(np.random.RandomState(0).randint(0, 255, (2, 4, 5, 3), dtype=np.uint8)).permute(0, 3, 1, 2).float().div(255)
print(images.shape, images.contiguous().is_contiguous(), images.mean(dim=(0, 2, 3)), images.contiguous().numpy().transpose(0, 2, 3, 1).flags["C_CONTIGUOUS"])
print(np.allclose(torch.linalg.inv(torch.tensor([[2.0, 1], [1, 3]])).numpy() @ np.array([[2.0, 1], [1, 3]]), np.eye(2), atol=1e-6))
