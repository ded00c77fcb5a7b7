#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_jax.py - tensors to and from JAX (CPU) by DLPack: the same memory, the same values. Run by `make test-jax`; needs jax (PyPI)."""
import os

import jax
import jax.numpy as jnp
import numpy as np

import ctsc

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")
DTYPES = ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64", "complex128")


def main():
    jax.config.update("jax_enable_x64", True)
    for name in DTYPES:
        for shape in ((), (5,), (2, 3, 4), (64, 64)):
            values = np.arange(int(np.prod(shape))).reshape(shape) % 2

            array = jnp.asarray(values).astype(name)
            tensor = ctsc.from_dlpack(array)
            assert tensor.dtype == getattr(ctsc, name) and tuple(tensor.shape) == shape, (name, shape)
            assert tensor.data_ptr() == array.unsafe_buffer_pointer(), (name, shape)
            assert tensor.to(ctsc.complex128).numpy().tolist() == values.tolist(), (name, shape)

            tensor = ctsc.from_numpy(values).to(getattr(ctsc, name)).clone()
            array = jnp.from_dlpack(tensor)
            assert array.dtype.name == name and array.shape == shape, (name, shape)
            assert array.unsafe_buffer_pointer() == tensor.data_ptr(), (name, shape)
            assert np.asarray(array).astype("complex128").tolist() == values.tolist(), (name, shape)

    # The memory outlives whoever made it.
    tensor = ctsc.from_dlpack(jnp.full((1000,), 3.0))
    array = jnp.from_dlpack(ctsc.full((1000,), 4.0))
    assert float(tensor.sum()) == 3000 and float(array.sum()) == 4000

    # A network between two of JAX's functions.
    images = jnp.from_dlpack(ctsc.load(os.path.join(MODELS, "digits_test.pt"))[0])
    labels = jnp.from_dlpack(ctsc.load(os.path.join(MODELS, "digits_labels.pt")))
    scores = ctsc.load(os.path.join(MODELS, "digits_cnn.pt"))(ctsc.from_dlpack(jax.jit(lambda v: v * 1.0)(images)))
    accuracy = float(jax.jit(lambda s, l: (s.argmax(1) == l).mean())(jnp.from_dlpack(scores), labels))
    assert accuracy > 0.99
    print("JAX %s: %d dtypes both ways in one memory; accuracy %.4f" % (jax.__version__, len(DTYPES), accuracy))


if __name__ == "__main__":
    main()
