# SPDX-License-Identifier: Apache-2.0
# functional_more.py - functions whose arguments Python takes in more ways than scripts do, and those that scripts do not know.
def _of_dims(unpool, n):
    def call(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        wide = lambda v: v if v is None or isinstance(v, (tuple, list)) else (v,) * n
        return unpool(input, indices, wide(kernel_size), wide(stride), wide(padding), output_size)
    call.__name__ = unpool.__name__
    return call


def _lp_of_dims(pool, n):
    def call(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        wide = kernel_size if isinstance(kernel_size, (tuple, list)) else (kernel_size,) * n
        return pool(input, norm_type, wide, stride, ceil_mode)
    call.__name__ = pool.__name__
    return call


_embedding, _embedding_bag = embedding, embedding_bag


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if max_norm is not None: # which scripts of PyTorch's leave out
        with torch.no_grad():
            torch.embedding_renorm_(weight.detach(), input.contiguous(), max_norm, norm_type)
    return _embedding(input, weight, padding_idx, None, norm_type, scale_grad_by_freq, sparse)


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode='mean', sparse=False, per_sample_weights=None, include_last_offset=False,
                  padding_idx=None):
    if weight.dtype == torch.long and input.is_floating_point():
        import warnings
        warnings.warn("Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is deprecated, and should now be `embedding_bag(input, weight, ...)`.")
        weight, input = input, weight
    if max_norm is not None:
        with torch.no_grad():
            torch.embedding_renorm_(weight.detach(), input.contiguous(), max_norm, norm_type)
    return _embedding_bag(input, weight, offsets, None, norm_type, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx)


def linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None, reduction='mean', ignore_index=None, label_smoothing=0.0, options=None):
    logits = linear(input, linear_weight.reshape(-1, linear_weight.shape[-1]), None if linear_bias is None else linear_bias.reshape(-1))
    logits = logits.reshape(list(input.shape[:-1]) + list(linear_weight.shape[:-1]))
    return cross_entropy(logits, target, weight=weight, reduction=reduction, ignore_index=-100 if ignore_index is None else ignore_index, label_smoothing=label_smoothing)


def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    # groups of rows of mat_a (offs: where each ends), each with a matrix of mat_b's; of two matrices groups of what is summed over, and so on
    if bias is not None:
        raise RuntimeError('grouped_mm: bias is not supported')
    ends = None if offs is None else offs.tolist()
    between = None if ends is None else list(zip([0] + ends[:-1], ends))
    if mat_a.ndim == 3 and mat_b.ndim == 3:
        made = torch.bmm(mat_a, mat_b)
    elif mat_a.ndim == 2 and mat_b.ndim == 3:
        made = torch.cat([mat_a[i:j] @ m for (i, j), m in zip(between, mat_b)] + [mat_a.new_zeros(mat_a.shape[0] - ends[-1], mat_b.shape[-1])])
    elif mat_a.ndim == 3:
        made = torch.cat([m @ mat_b[:, i:j] for (i, j), m in zip(between, mat_a)], 1)
    else:
        made = torch.stack([mat_a[:, i:j] @ mat_b[i:j] for i, j in between])
    return made if out_dtype is None else made.to(out_dtype)


def _none_or_dtype(input):
    # of annotations of masks: None, or a dtype
    if input is None or isinstance(input, torch.Tensor):
        return None if input is None else input.dtype
    raise RuntimeError('input to _none_or_dtype() must be None or torch.Tensor')


def _canonical_mask(mask, mask_name, other_type, other_name, target_type, check_other=True):
    # a mask of bools as one that is added to scores: -inf where it is True
    if mask is None:
        return None
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise AssertionError('only bool and floating types of %s are supported' % mask_name)
    if mask.dtype == torch.bool:
        return torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, float('-inf'))
    return mask


from ctsc.overrides import handle_torch_function, has_torch_function, has_torch_function_unary, has_torch_function_variadic

lp_pool2d, lp_pool3d = _lp_of_dims(lp_pool2d, 2), _lp_of_dims(lp_pool3d, 3)
max_unpool1d, max_unpool2d, max_unpool3d = _of_dims(max_unpool1d, 1), _of_dims(max_unpool2d, 2), _of_dims(max_unpool3d, 3)
