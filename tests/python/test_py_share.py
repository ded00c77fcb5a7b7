# SPDX-License-Identifier: Apache-2.0
"""test_py_share.py - memory that is shared with NumPy, buffers and DLPack, both ways; who keeps whom alive."""
import gc
import threading
import weakref

import pytest

import ctsc

np = pytest.importorskip("numpy")


def test_numpy_in_without_a_copy():
    a = np.arange(6.).reshape(2, 3)
    t = ctsc.from_numpy(a)
    t[0, 0] = 7
    assert a[0, 0] == 7 and t.data_ptr() == a.ctypes.data and t.dtype is ctsc.float64
    assert ctsc.as_tensor(a).data_ptr() == a.ctypes.data and ctsc.tensor(a).data_ptr() != a.ctypes.data
    view = ctsc.from_numpy(a[:, ::2])
    assert view.stride() == (3, 2) and view.tolist() == a[:, ::2].tolist()
    for dtype in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "complex64", "complex128"):
        b = np.ones((2, 2), dtype)
        assert ctsc.from_numpy(b).dtype.name == dtype and (ctsc.from_numpy(b).numpy() == b).all()
    assert ctsc.from_numpy(np.float64(2.5) * np.ones(())).item() == 2.5
    assert ctsc.from_numpy(np.zeros((0, 3))).shape == (0, 3)


def test_numpy_out_without_a_copy():
    t = ctsc.arange(6).view(2, 3)
    for a in (t.numpy(), np.asarray(t), np.from_dlpack(t), np.frombuffer(t, np.int64)):
        assert a.ctypes.data == t.data_ptr()
    assert t.T.numpy().strides == (8, 24)
    a = t.numpy()
    del t
    gc.collect()
    assert a.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert np.add(ctsc.ones(2), 1).tolist() == [2, 2]
    with pytest.raises(TypeError, match="BFloat16"):
        ctsc.zeros(1, dtype=ctsc.bfloat16).numpy()
    with pytest.raises(RuntimeError, match="requires grad"):
        ctsc.zeros(1, requires_grad=True).numpy()


def test_what_cannot_be_shared():
    with pytest.raises(ValueError, match="negative"):
        ctsc.from_numpy(np.arange(3)[::-1])
    with pytest.raises(TypeError, match="supported types"):
        ctsc.from_numpy(np.array(["a"]))
    with pytest.raises(TypeError, match="expected np.ndarray"):
        ctsc.from_numpy([1])
    with pytest.raises(BufferError, match="contiguous"):
        np.frombuffer(ctsc.zeros(2, 3).T)


def test_lifetimes():
    a = np.zeros(1000)
    alive = weakref.ref(a)
    t = ctsc.from_numpy(a)[10:]
    del a
    gc.collect()
    assert alive() is not None
    # the last reference goes on another thread
    box = [t]
    del t
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert alive() is None


def test_read_only_memory(digits):
    frozen = np.ones(3)
    frozen.flags.writeable = False
    t = ctsc.from_numpy(frozen)
    assert not t.numpy().flags.writeable
    t += 1  # copies first
    assert frozen.tolist() == [1, 1, 1] and t.tolist() == [2, 2, 2]
    weight = memoryview(digits.state_dict()["fc1.weight"])  # of a mapped file
    assert weight.readonly
    with pytest.raises(TypeError, match="read-only"):
        weight[0, 0] = 1.


def test_dlpack():
    t = ctsc.arange(4.)
    u = ctsc.from_dlpack(t)
    u[0] = 9
    assert t[0] == 9 and t.__dlpack_device__() == (1, 0)
    capsule = t.__dlpack__()
    assert ctsc.from_dlpack(capsule).tolist() == t.tolist()
    with pytest.raises(ValueError, match="consumed only once"):
        ctsc.from_dlpack(capsule)
    b = ctsc.from_dlpack(ctsc.ones(2, dtype=ctsc.bfloat16).__dlpack__(max_version=(1, 0)))
    assert b.dtype is ctsc.bfloat16
    for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "uint16", "uint64"):
        f = ctsc.tensor([1., 2., 4.]).to(getattr(ctsc, name))
        g = ctsc.from_dlpack(f.__dlpack__(max_version=(1, 1)))
        assert g.dtype == f.dtype and g.data_ptr() == f.data_ptr() and g.float().tolist() == [1, 2, 4]
    assert ctsc.from_dlpack(np.arange(3)).tolist() == [0, 1, 2]
    del capsule
    t.__dlpack__()  # nobody takes it


def test_programs_take_what_has_dlpack():
    class Other:
        def __init__(self, t):
            self.t = t

        def __dlpack__(self, **options):
            return self.t.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.t.__dlpack_device__()
    m = ctsc.compile("import torch\ndef forward(x: torch.Tensor):\n    return x.add_(1)\n")
    t = ctsc.zeros(2)
    m(Other(t))
    assert t.tolist() == [1, 1]
    a = np.zeros(2)
    m(a)
    assert a.tolist() == [1, 1]


def test_buffers():
    t = ctsc.tensor([[1, 2], [3, 4]], dtype=ctsc.int32)
    view = memoryview(t)
    assert view.format == "i" and view.shape == (2, 2) and view.tolist() == [[1, 2], [3, 4]]
    view[0, 0] = 7
    assert t[0, 0] == 7
    assert ctsc.as_tensor(bytearray(b"ab")).tolist() == [97, 98]
    assert ctsc.frombuffer(np.arange(3.).tobytes(), dtype=ctsc.float64).tolist() == [0, 1, 2]
    assert bytes(ctsc.tensor([1, 2], dtype=ctsc.uint8)) == b"\x01\x02"


def test_memory_that_is_not_aligned():
    a = np.frombuffer(memoryview(bytearray(41))[1:], np.float32)
    a[3] = 2
    for make in (ctsc.tensor, ctsc.as_tensor, ctsc.script(lambda_of_nothing)):
        assert make(a).tolist() == a.tolist()
    assert ctsc.as_tensor(a[1::2]).tolist() == a[1::2].tolist() and ctsc.as_tensor(a.reshape(2, 5).T).shape == (5, 2)
    with pytest.raises(RuntimeError, match="aligned"):
        ctsc.from_numpy(a)


def lambda_of_nothing(x: ctsc.Tensor) -> ctsc.Tensor:
    return x + 0
