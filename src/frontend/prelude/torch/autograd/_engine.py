# SPDX-License-Identifier: Apache-2.0
# _engine.py - torch.autograd.grad and backward, and Tensor.backward, for module-level code.
import torch


def _tuple(x):
    return (x,) if isinstance(x, torch.Tensor) or x is None else tuple(x)


def _check_shapes(outputs, grads):
    if len(outputs) != len(grads):
        raise RuntimeError('got {} tensors and {} gradients'.format(len(outputs), len(grads)))
    for i, (out, g) in enumerate(zip(outputs, grads)):
        if g is not None and g.shape != out.shape:
            raise RuntimeError('Mismatch in shape: grad_output[{}] has a shape of {} and output[{}] has a shape of {}.'.format(i, g.shape, i, out.shape))


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=False, is_grads_batched=False):
    if is_grads_batched:
        raise NotImplementedError('grad(is_grads_batched=True): call it for each row')
    outputs, inputs = _tuple(outputs), _tuple(inputs)
    given = (None,) * len(outputs) if grad_outputs is None else _tuple(grad_outputs)
    _check_shapes(outputs, given)
    return tuple(torch._VF.grad(list(outputs), list(inputs), list(given), retain_graph, create_graph, allow_unused))


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None):
    roots = _tuple(tensors)
    grads = (None,) * len(roots) if grad_tensors is None else _tuple(grad_tensors)
    _check_shapes(roots, grads)
    if inputs is not None:
        wanted = _tuple(inputs)
        if not wanted:
            raise RuntimeError("'inputs' argument to backward() cannot be empty.")
        for t, g in zip(wanted, grad(roots, wanted, grads, retain_graph, create_graph, allow_unused=True)):
            if g is not None:
                with torch.set_grad_enabled(create_graph):
                    t.grad = g if t.grad is None else t.grad + g
    elif len(roots) == 1:
        torch._C._backward(roots[0], grads[0], retain_graph, create_graph)
    else:
        torch._VF.backward(list(roots), list(grads), retain_graph, create_graph)
