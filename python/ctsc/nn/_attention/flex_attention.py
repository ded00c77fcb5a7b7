# SPDX-License-Identifier: Apache-2.0
"""flex_attention.py - torch.nn.attention.flex_attention: attention whose scores a function changes, or a mask leaves out. All scores are computed; a mask is a matrix."""
import math

import ctsc


def _indices(B, H, Q, KV, device=None):
    return [ctsc.arange(n, device=device).reshape([n if i == at else 1 for i in range(4)]) for at, n in enumerate((B, H, Q, KV))]


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device="cpu"):
    """The matrix of mask_mod(b, h, q, kv), of bools; of a score_mod the numbers that it makes of zeros."""
    import inspect
    where = _indices(B or 1, H or 1, Q_LEN, KV_LEN, device)
    scores = len(inspect.signature(mod_fn).parameters) == 5
    made = mod_fn(ctsc.zeros(B or 1, H or 1, Q_LEN, KV_LEN, device=device), *where) if scores else mod_fn(*where)
    return made.expand(B or 1, H or 1, Q_LEN, KV_LEN)


class BlockMask:
    def __init__(self, mask, mask_mod, block_size):
        self.mask, self.mask_mod, self.BLOCK_SIZE = mask, mask_mod, (block_size, block_size) if isinstance(block_size, int) else tuple(block_size)
        self.shape, self.seq_lengths = tuple(mask.shape), tuple(mask.shape[-2:])

    def to_dense(self):
        """1 for each block that has something to attend to."""
        q, kv = self.BLOCK_SIZE
        rows = ctsc.nn.functional.pad(self.mask.float(), (0, -self.shape[-1] % kv, 0, -self.shape[-2] % q))
        b, h, m, n = rows.shape
        return rows.reshape(b, h, m // q, q, n // kv, kv).amax((3, 5)).int()

    def sparsity(self):
        dense = self.to_dense().float()
        return 100.0 * (1 - dense.mean().item())

    def numel(self):
        return self.mask.numel()

    def to(self, device):
        return BlockMask(self.mask.to(device), self.mask_mod, self.BLOCK_SIZE)


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device="cpu", BLOCK_SIZE=128, _compile=False):
    return BlockMask(create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device), mask_mod, BLOCK_SIZE)


def and_masks(*mask_mods):
    def both(*where):
        made = mask_mods[0](*where)
        for m in mask_mods[1:]:
            made = made & m(*where)
        return made
    return both


def or_masks(*mask_mods):
    def either(*where):
        made = mask_mods[0](*where)
        for m in mask_mods[1:]:
            made = made | m(*where)
        return made
    return either


def noop_mask(batch, head, token_q, token_kv):
    return batch.new_ones((), dtype=ctsc.bool)


def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False, kernel_options=None, *, return_aux=None):
    """softmax(score_mod(query key^T scale, batch, head, q, kv)) value"""
    if return_aux is not None:
        raise NotImplementedError("flex_attention: return_aux is not supported; return_lse is")
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise ValueError("flex_attention: query, key and value have 4 dimensions: batch, heads, positions, features")
    if enable_gqa:
        key, value = (t.repeat_interleave(query.size(1) // t.size(1), 1) for t in (key, value))
    elif key.size(1) != query.size(1):
        raise ValueError("Expect query and key/value to have the same number of heads but got Hq=%d and Hkv=%d. Try setting enable_gqa=True for GQA." % (query.size(1), key.size(1)))
    scores = (query @ key.transpose(-2, -1)) * (1 / math.sqrt(query.size(-1)) if scale is None else scale)
    if score_mod is not None:
        scores = score_mod(scores, *_indices(*scores.shape, device=scores.device))
    if block_mask is not None:
        mask = block_mask.mask[..., :scores.size(-2), :scores.size(-1)]
        scores = scores.masked_fill(~mask, float("-inf"))
    out = ctsc.nan_to_num(scores.softmax(-1), nan=0.0) @ value if block_mask is not None else scores.softmax(-1) @ value
    return (out, scores.logsumexp(-1)) if return_lse else out

_DEFAULT_SPARSE_BLOCK_SIZE = 128


class AuxRequest:
    """What flex_attention gives beside its result: lse (log of the sum of exponentials), max_scores."""

    def __init__(self, lse=False, max_scores=False):
        self.lse, self.max_scores = lse, max_scores
