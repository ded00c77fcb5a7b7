# SPDX-License-Identifier: Apache-2.0
# _einops.py - calls of einops' functions in compiled code, as functions in TorchScript (source_expand.c).
#
# A pattern is known while compiling: what it does is a reshape into elementary axes, a permutation with the reduced axes
# last, the reduction, new axes, and a reshape into the axes asked for. An ellipsis is one axis, until the last reshape.
from typing import Dict, List, Tuple

import torch
from torch import Tensor


def _fail(message):
    raise ValueError(message)


def _parse(side, pattern):
    # A list of composite axes, each a list of axes: names, numbers, '...'. An ellipsis without brackets is a tuple.
    axes = []
    group = None
    text = side.replace('(', ' ( ').replace(')', ' ) ').replace('…', '...').split()
    for word in text:
        if word == '(':
            if group is not None:
                _fail('Axis composition is one-level (brackets inside brackets not allowed): ' + pattern)
            group = []
        elif word == ')':
            if group is None:
                _fail('Brackets are not balanced: ' + pattern)
            axes.append(group)
            group = None
        else:
            if word != '...' and not word.isidentifier() and not word.isdigit():
                _fail('Invalid axis identifier: {} in {}'.format(word, pattern))
            if word == '1':
                if group is None:
                    axes.append([])
            elif group is None:
                axes.append(('...',) if word == '...' else [word])
            else:
                group.append(word)
    if group is not None:
        _fail('Brackets are not balanced: ' + pattern)
    return axes


def _numbered(composites, prefix):
    # Axes that are numbers get names; their lengths.
    lengths = {}
    for group in composites:
        for i, axis in enumerate(group):
            if axis.isdigit():
                group[i] = prefix + str(len(lengths))
                lengths[group[i]] = axis
    return lengths


def _sides(pattern):
    sides = pattern.split('->')
    if len(sides) != 2:
        _fail('The pattern of einops has one ->: ' + pattern)
    return _parse(sides[0], pattern), _parse(sides[1], pattern)


def _check(operation, left, right, given, pattern):
    ins = [axis for group in left for axis in group]
    outs = [axis for group in right for axis in group]
    for axes in (ins, outs):
        for axis in axes:
            if axes.count(axis) > 1:
                _fail('Indexing expression contains duplicate dimension "{}": {}'.format(axis, pattern))
    missing = [axis for axis in ins if axis not in outs]
    new = [axis for axis in outs if axis not in ins]
    if '...' in new:
        _fail('Ellipsis found in right side, but not left side of a pattern ' + pattern)
    if operation == 'rearrange' and (missing or new):
        _fail('Identifiers only on one side of expression (should be on both): {} in {}'.format(set(missing + new), pattern))
    if operation == 'repeat' and missing:
        _fail('Unexpected identifiers on the left side of repeat: {} in {}'.format(set(missing), pattern))
    if operation == 'reduce' and new:
        _fail('Unexpected identifiers on the right side of reduce: {} in {}'.format(set(new), pattern))
    for axis in new:
        if axis not in given:
            _fail('Specify sizes for new axes in repeat: {} in {}'.format(axis, pattern))
    for axis in given:
        if axis not in ins and axis not in new:
            _fail('Axis {} is not used in transform {}'.format(axis, pattern))
    return ins, missing, new


def _product(sizes):
    return ' * '.join(sizes) if sizes else '1'


def _lengths(code, left, given, pattern):
    # Code that finds the length of each axis of the left side: L_axis.
    rank = len(left)
    wide = [i for i, group in enumerate(left) if '...' in group]
    if wide:
        code.append('wide_ = x_.dim() - {}'.format(rank - 1))
        code.append('if wide_ < 0:\n        raise RuntimeError("einops: the tensor has too few dimensions for {}")'.format(pattern))
    else:
        code.append('if x_.dim() != {}:\n        raise RuntimeError("einops: the tensor has not {} dimensions, as {} asks for")'.format(
            rank, rank, pattern))
    for i, group in enumerate(left):
        if '...' in group:
            if not isinstance(group, tuple):
                _fail('Ellipsis inside parenthesis in the left side is not allowed: ' + pattern)
            code.append('rest_ = x_.shape[{}:{} + wide_]'.format(i, i))
            code.append('L__rest = 1')
            code.append('for n_ in rest_:\n        L__rest = L__rest * n_')
            continue
        size = 'x_.size({})'.format(i if not wide or i < wide[0] else i - rank)
        known = [given[axis] for axis in group if axis in given]
        unknown = [axis for axis in group if axis not in given]
        if len(unknown) > 1:
            _fail('Could not infer sizes for {}: {}'.format(set(unknown), pattern))
        message = 'einops: a dimension does not fit the lengths given, in ' + pattern
        if unknown and known:
            code.append('if {} % ({}) != 0:\n        raise RuntimeError("{}")'.format(size, _product(known), message))
            code.append('L_{} = {} // ({})'.format(unknown[0], size, _product(known)))
        elif unknown:
            code.append('L_{} = {}'.format(unknown[0], size))
        else:
            code.append('if {} != {}:\n        raise RuntimeError("{}")'.format(size, _product(known), message))
        for axis in group:
            if axis in given:
                code.append('L_{} = {}'.format(axis, given[axis]))


def _length(axis):
    return 'L__rest' if axis == '...' else 'L_' + axis


def _reduction(code, reduction, first, count, pattern):
    dims = ', '.join([str(first + i) for i in range(count)])
    if reduction in ('sum', 'mean'):
        code.append('x_ = x_.{}([{}])'.format(reduction, dims))
    elif reduction in ('min', 'max'):
        code.append('x_ = x_.a{}([{}])'.format(reduction, dims))
    elif reduction in ('prod', 'any', 'all'):
        for i in range(count):
            code.append('x_ = x_.{}({})'.format(reduction, first + count - 1 - i))
    else:
        _fail('Unknown reduction {} in {}'.format(reduction, pattern))


def _permutation(code, ins, kept, missing):
    order = [ins.index(axis) for axis in kept + missing]
    if order != list(range(len(ins))):
        code.append('x_ = x_.permute({})'.format(order))


def _new_axes(code, kept, outs, new):
    # kept: the axes that x has, in the order of outs
    for i, axis in enumerate(outs):
        if axis in new:
            code.append('x_ = x_.unsqueeze({})'.format(i))
    if new:
        code.append('x_ = x_.expand([{}])'.format(', '.join([_length(axis) if axis in new else '-1' for axis in outs])))


def _final(right):
    parts = []
    for group in right:
        parts.append('rest_' if isinstance(group, tuple) else '[' + _product([_length(axis) for axis in group]) + ']')
    return ' + '.join(parts) if parts else 'torch.jit.annotate(List[int], [])'


_PACK = """def pack(tensors: List[Tensor]) -> Tuple[Tensor, List[List[int]]]:
    parts: List[Tensor] = []
    shapes: List[List[int]] = []
    for t in tensors:
        if t.dim() < BEFORE + AFTER:
            raise RuntimeError("einops.pack: a tensor has too few dimensions for PATTERN")
        end = t.dim() - AFTER
        shapes.append(t.shape[BEFORE:end])
        parts.append(t.reshape(t.shape[:BEFORE] + [-1] + t.shape[end:]))
    return torch.cat(parts, dim=BEFORE), shapes
"""
_UNPACK = """def unpack(x: Tensor, shapes: List[List[int]]) -> List[Tensor]:
    if x.dim() != BEFORE + 1 + AFTER:
        raise RuntimeError("einops.unpack: the tensor has not as many dimensions as PATTERN")
    rest = x.shape[BEFORE]
    unknown = 0
    for shape in shapes:
        if -1 in shape:
            unknown += 1
        else:
            rest -= _product_of(shape)
    if unknown > 1 or rest < 0 or (unknown == 0 and rest != 0):
        raise RuntimeError("einops.unpack: the tensor cannot be split into these shapes")
    parts: List[Tensor] = []
    at = 0
    for shape in shapes:
        length = rest if -1 in shape else _product_of(shape)
        parts.append(x.narrow(BEFORE, at, length).reshape(x.shape[:BEFORE] + shape + x.shape[BEFORE + 1:]))
        at += length
    return parts
"""


def _product_of(shape: List[int]) -> int:
    n = 1
    for size in shape:
        n *= size
    return n


def _packing(text, pattern):
    axes = pattern.split()
    if axes.count('*') != 1:
        _fail('No *-axis in packing pattern, or several: ' + pattern)
    for axis in axes:
        if axis != '*' and (not axis.isidentifier() or axes.count(axis) > 1):
            _fail('Invalid axis name {} in packing pattern {}'.format(axis, pattern))
    before = axes.index('*')
    return text.replace('BEFORE', str(before)).replace('AFTER', str(len(axes) - before - 1)).replace('PATTERN', pattern)


def _shape(pattern):
    axes = pattern.split()
    wide = axes.index('...') if '...' in axes else len(axes)
    rank = len(axes) - ('...' in axes)
    code = ['def parse_shape(x: Tensor) -> Dict[str, int]:', '    d: Dict[str, int] = {}',
            '    if x.dim() {} {}:'.format('<' if '...' in axes else '!=', rank),
            '        raise RuntimeError("einops.parse_shape: the tensor has not the dimensions of {}")'.format(pattern)]
    for i, axis in enumerate(axes):
        at = i if i < wide else i - len(axes)
        if axis.isdigit():
            code.append('    if x.shape[{}] != {}:'.format(at, axis))
            code.append('        raise RuntimeError("einops.parse_shape: the length of an axis is not {}")'.format(axis))
        elif axis not in ('_', '...'):
            if not axis.isidentifier():
                _fail('Invalid axis name {} in {}'.format(axis, pattern))
            code.append('    d["{}"] = x.shape[{}]'.format(axis, at))
    return '\n'.join(code + ['    return d']) + '\n'


def expand(operation, reduction, pattern, names, stacked):
    """The text of a function tensors_, *names -> Tensor (an axis has no name that ends like that); of pack, unpack and parse_shape as they are in einops."""
    if operation == 'parse_shape':
        return _shape(pattern)
    if operation == 'pack' or operation == 'unpack':
        return _packing(_PACK if operation == 'pack' else _UNPACK, pattern)
    left, right = _sides(pattern)
    given = {name: name for name in names}
    numbers = _numbered(left, 'in_')
    fixed = _numbered(right, 'new_')
    if operation == 'rearrange' and (numbers or fixed):
        _fail('Non-unitary anonymous axes are not supported in rearrange (exception is length 1): ' + pattern)
    given.update(numbers)
    given.update(fixed)
    ins, missing, new = _check(operation, left, right, given, pattern)
    outs = [axis for group in right for axis in group]
    code = ['x_ = torch.stack(tensors_)'] if stacked else ['x_ = tensors_']
    _lengths(code, left, given, pattern)
    for axis in new:
        code.append('L_{} = {}'.format(axis, given[axis]))
    if any([isinstance(group, tuple) or len(group) != 1 for group in left]):
        code.append('x_ = x_.reshape([{}])'.format(', '.join([_length(axis) for axis in ins])) if ins else 'x_ = x_.reshape(torch.jit.annotate(List[int], []))')
    kept = [axis for axis in outs if axis in ins]
    _permutation(code, ins, kept, missing)
    if missing:
        _reduction(code, reduction, len(kept), len(missing), pattern)
    _new_axes(code, kept, outs, new)
    if any([isinstance(group, tuple) or len(group) != 1 for group in right]):
        code.append('x_ = x_.reshape({})'.format(_final(right)))
    code.append('return x_')
    head = 'def {}(tensors_: {}{}) -> Tensor:\n'.format(
        operation, 'List[Tensor]' if stacked else 'Tensor', ''.join([', {}: int'.format(name) for name in names]))
    return head + '\n'.join(['    ' + line for line in code]) + '\n'


def equation(pattern):
    """einsum's pattern with names as one with letters."""
    if '->' not in pattern:
        _fail('Einsum pattern must contain an arrow: ' + pattern)
    letters = {}
    sides = []
    for side in pattern.split('->'):
        operands = []
        for operand in side.split(','):
            word = ''
            for axis in operand.split():
                if axis in ('...', '…'):
                    word += '...'
                    continue
                if not axis.isidentifier():
                    _fail('Invalid axis identifier in einsum: {} in {}'.format(axis, pattern))
                if axis not in letters:
                    if len(letters) == 52:
                        _fail('Too many axes in einsum: ' + pattern)
                    letters[axis] = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'[len(letters)]
                word += letters[axis]
            operands.append(word)
        sides.append(','.join(operands))
    return '->'.join(sides)
