# SPDX-License-Identifier: Apache-2.0
# onnx_contrib.py - operators of domain com.microsoft (frontend/onnx/onnx_contrib.def): products, embeddings, attention with caches.


# The first dim after those of the batch.
def _contrib_batch(x: Tensor) -> Tensor:
    order = annotate(List[int], [])
    for i in range(x.dim() - 2):
        order.append(i + 1)
    order.append(0)
    order.append(x.dim() - 1)
    return torch.permute(x, order)


def onnx_fused_matmul(a: Tensor, b: Tensor, alpha: float, turn_a: bool, turn_b: bool, batch_a: bool, batch_b: bool) -> Tensor:
    x = __torch__.operators.onnx_contrib._contrib_batch(a) if batch_a else a
    y = __torch__.operators.onnx_contrib._contrib_batch(b) if batch_b else b
    if turn_a:
        x = torch.transpose(x, -2, -1)
    if turn_b:
        y = torch.transpose(y, -2, -1)
    out = torch.matmul(x, y)
    if alpha != 1.0:
        out = out * alpha
    return out


# ---- embeddings ------------------------------------------------------------------------------------------------------


def onnx_embed(ids: Tensor, segments: Optional[Tensor], words: Tensor, positions: Tensor, segment_table: Optional[Tensor], at: Optional[Tensor]) -> Tensor:
    if ids.dim() != 2:
        torch.ops.ctsc.fail("input_ids has {} dims, not 2".format(ids.dim()))
    y = torch.embedding(words, ids)
    if at is not None:
        y = y + torch.embedding(positions, at)
    else:
        y = y + torch.slice(positions, 0, 0, ids.size(1))
    if segments is not None and segment_table is not None:
        y = y + torch.embedding(segment_table, segments)
    return y


# How many ids of each row the mask shows; 0 without a mask.
def onnx_mask_lengths(ids: Tensor, mask: Optional[Tensor]) -> Tensor:
    if mask is not None:
        return torch.to(torch.sum(torch.eq(mask, 1), [1]), 3)
    return torch.zeros([ids.size(0)], dtype=3)


# ---- rotary embeddings, norms of heads -------------------------------------------------------------------------------


# ids: one, of the first row, or of each.
def onnx_rotary_ids(self: Tensor, ids: Tensor, cosines: Tensor, sines: Tensor, interleaved: bool, heads: int, dim: int) -> Tensor:
    at = ids
    if ids.dim() < 2:
        if torch.numel(ids) != 1:
            torch.ops.ctsc.fail("position_ids of one dim has {} elements, not 1".format(torch.numel(ids)))
        at = torch.unsqueeze(torch.arange(self.size(-2)) + ids, 0)
    n = dim
    if n == 0:
        n = cosines.size(1) * 2
    count = heads
    if count == 0:
        count = self.size(-1) // n
    return torch.ops.ctsc.onnx_rotary(self, cosines, sines, at, interleaved, count, n)


def onnx_rotary_part(self: Tensor, cosines: Tensor, sines: Tensor, at: Tensor, interleaved: bool, heads: int) -> Tensor:
    return torch.ops.ctsc.onnx_rotary(self, cosines, sines, at, interleaved, heads, cosines.size(1) * 2)


def onnx_head_norm(self: Tensor, weight: Tensor, heads: int, eps: float) -> Tensor:
    x = torch.reshape(self, [self.size(0), self.size(1), heads, -1])
    return torch.reshape(torch.rms_norm(x, [x.size(3)], weight, eps), self.size())


# ---- Attention, MultiHeadAttention -----------------------------------------------------------------------------------


# [batch, rows, heads * size] as [batch, heads, rows, size]
def _contrib_heads(x: Tensor, heads: int) -> Tensor:
    return torch.transpose(torch.reshape(x, [x.size(0), x.size(1), heads, -1]), 1, 2)


def _contrib_merged(y: Tensor) -> Tensor:
    return torch.reshape(torch.transpose(y, 1, 2), [y.size(0), y.size(2), -1])


# What a mask adds to the scores of `total` keys: `fill` where it hides one. Of one dim: ends of the keys, or these and then their beginnings.
def _contrib_mask(mask: Tensor, batch: int, total: int, fill: float, type: int) -> Tensor:
    m = mask
    if mask.dim() == 1:
        columns = torch.arange(total)
        ends = torch.reshape(torch.slice(mask, 0, 0, batch), [-1, 1, 1, 1])
        m = torch.lt(columns, ends)
        if mask.size(0) == 2 * batch:
            m = torch.logical_and(m, torch.ge(columns, torch.reshape(torch.slice(mask, 0, batch), [-1, 1, 1, 1])))
        elif mask.size(0) != batch:
            torch.ops.ctsc.fail("a mask of {} elements for a batch of {} is not supported".format(mask.size(0), batch))
    elif mask.dim() == 2:
        m = torch.reshape(mask, [mask.size(0), 1, 1, mask.size(1)])
    elif mask.dim() == 3:
        m = torch.unsqueeze(mask, 1)
    else:
        torch.ops.ctsc.fail("a mask of {} dims is not supported".format(mask.dim()))
    if m.size(-1) != total:
        torch.ops.ctsc.fail("the mask is of {} keys, and there are {}".format(m.size(-1), total))
    hidden = torch.le(m, 0)
    return torch.masked_fill(torch.zeros(hidden.size(), dtype=type), hidden, fill)


def _contrib_added(mask: Optional[Tensor], bias: Optional[Tensor], batch: int, total: int, fill: float, type: int) -> Optional[Tensor]:
    if mask is not None:
        m = __torch__.operators.onnx_contrib._contrib_mask(mask, batch, total, fill, type)
        if bias is not None:
            return m + bias
        return m
    return bias


# Rows see the keys up to their own, which `past` others come before; `least` is added to the rest.
def _contrib_causal(added: Optional[Tensor], rows: int, total: int, past: int, type: int, least: float) -> Tensor:
    hidden = torch.logical_not(torch.tril(torch.ones([rows, total], dtype=11), past))
    if added is not None:
        return torch.masked_fill(added, hidden, least)
    return torch.masked_fill(torch.zeros([rows, total], dtype=type), hidden, least)


def _contrib_attention(q: Tensor, k: Tensor, v: Tensor, added: Optional[Tensor], causal: bool, past: int, scale: Optional[float]) -> Tensor:
    rows = q.size(2)
    total = k.size(2)
    if causal and total > past + rows:
        torch.ops.ctsc.fail("unidirectional attention of {} rows after {} to {} keys is not supported".format(rows, past, total))
    if causal and past + 1 < total:
        if added is None and rows == total:
            return __torch__.operators.onnx_contrib._contrib_merged(torch.scaled_dot_product_attention(q, k, v, None, 0.0, True, scale=scale))
        seen = __torch__.operators.onnx_contrib._contrib_causal(added, rows, total, past, q.dtype, float("-inf"))
        return __torch__.operators.onnx_contrib._contrib_merged(torch.scaled_dot_product_attention(q, k, v, seen, 0.0, False, scale=scale))
    return __torch__.operators.onnx_contrib._contrib_merged(torch.scaled_dot_product_attention(q, k, v, added, 0.0, False, scale=scale))


# sizes: of queries, keys and values; [] for a third each. past: keys, then values.
def onnx_projected_attention(x: Tensor, w: Tensor, bias: Optional[Tensor], mask: Optional[Tensor], past: Optional[Tensor], added: Optional[Tensor], heads: int, sizes: List[int], causal: bool, scale: Optional[float], fill: float, present: bool) -> Tuple[Tensor, Tensor]:
    third = w.size(1) // 3
    parts = [third, third, third]
    if len(sizes) == 3:
        parts = sizes
    qkv = torch.linear(x, torch.transpose(w, 0, 1), bias)
    query, key, value = torch.split_with_sizes(qkv, parts, 2)
    q = __torch__.operators.onnx_contrib._contrib_heads(query, heads)
    k = __torch__.operators.onnx_contrib._contrib_heads(key, heads)
    v = __torch__.operators.onnx_contrib._contrib_heads(value, heads)
    before = 0
    if past is not None:
        before = past.size(3)
        k = torch.cat([torch.select(past, 0, 0), k], 2)
        v = torch.cat([torch.select(past, 0, 1), v], 2)
    a = __torch__.operators.onnx_contrib._contrib_added(mask, added, x.size(0), k.size(2), fill, q.dtype)
    y = __torch__.operators.onnx_contrib._contrib_attention(q, k, v, a, causal, before, scale)
    if present:
        return (y, torch.stack([k, v]))
    return (y, y)


# Of 5 dims: [batch, rows, heads, parts, size]; part i of it, with its share of the bias.
def _contrib_packed(x: Tensor, part: int, bias: Optional[Tensor]) -> Tensor:
    y = torch.select(x, 3, part)
    if bias is not None:
        n = y.size(2) * y.size(3)
        y = y + torch.reshape(torch.slice(bias, 0, part * n, part * n + n), [y.size(2), y.size(3)])
    return torch.transpose(y, 1, 2)


def _contrib_biased(x: Tensor, bias: Optional[Tensor], first: int) -> Tensor:
    if bias is None:
        return x
    return x + torch.slice(bias, 0, first, first + x.size(-1))


def onnx_multi_head_attention(query: Tensor, key: Optional[Tensor], value: Optional[Tensor], bias: Optional[Tensor], mask: Optional[Tensor], added: Optional[Tensor], past_key: Optional[Tensor], past_value: Optional[Tensor], heads: int, causal: bool, scale: Optional[float], fill: float, shown: bool) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    q = query
    k = query
    v = query
    if key is None and query.dim() == 3:
        parts = torch.chunk(__torch__.operators.onnx_contrib._contrib_biased(query, bias, 0), 3, 2)
        q = __torch__.operators.onnx_contrib._contrib_heads(parts[0], heads)
        k = __torch__.operators.onnx_contrib._contrib_heads(parts[1], heads)
        v = __torch__.operators.onnx_contrib._contrib_heads(parts[2], heads)
    elif key is None:
        if query.dim() != 5:
            torch.ops.ctsc.fail("query has {} dims, and without a key it should have 3 or 5".format(query.dim()))
        q = __torch__.operators.onnx_contrib._contrib_packed(query, 0, bias)
        k = __torch__.operators.onnx_contrib._contrib_packed(query, 1, bias)
        v = __torch__.operators.onnx_contrib._contrib_packed(query, 2, bias)
    else:
        q = __torch__.operators.onnx_contrib._contrib_heads(__torch__.operators.onnx_contrib._contrib_biased(query, bias, 0), heads)
        n = query.size(2)
        if value is None:
            if key.dim() != 5 or bias is not None:
                torch.ops.ctsc.fail("key has {} dims, and without a value it should have 5, and there should be no bias".format(key.dim()))
            k = __torch__.operators.onnx_contrib._contrib_packed(key, 0, None)
            v = __torch__.operators.onnx_contrib._contrib_packed(key, 1, None)
        elif key.dim() == 4:
            k = key
            v = value
        else:
            k = __torch__.operators.onnx_contrib._contrib_heads(__torch__.operators.onnx_contrib._contrib_biased(key, bias, n), heads)
            v = __torch__.operators.onnx_contrib._contrib_heads(__torch__.operators.onnx_contrib._contrib_biased(value, bias, 2 * n), heads)
    before = 0
    if past_key is not None and past_value is not None:
        before = past_key.size(2)
        k = torch.cat([past_key, k], 2)
        v = torch.cat([past_value, v], 2)
    a = __torch__.operators.onnx_contrib._contrib_added(mask, added, q.size(0), k.size(2), fill, q.dtype)
    y = __torch__.operators.onnx_contrib._contrib_attention(q, k, v, a, causal, before, scale)
    if not shown:
        return (y, k, v, y)
    if causal:
        a = __torch__.operators.onnx_contrib._contrib_causal(a, q.size(2), k.size(2), before, q.dtype, -3.4028234663852886e38)
    factor = float(q.size(3)) ** -0.5
    if scale is not None:
        factor = scale
    scores = torch.matmul(q * factor, torch.transpose(k, 2, 3))
    if a is not None:
        scores = scores + a
    return (y, k, v, scores)


# A cache that is a buffer for more: what is in it so far, and the rest.
def onnx_cache_whole(self: Tensor, buffer: Tensor) -> Tensor:
    return torch.cat([self, torch.slice(buffer, 2, self.size(2))], 2)


# ---- GroupQueryAttention ---------------------------------------------------------------------------------------------


# Queries, keys and values side by side.
def onnx_gqa_unpack(self: Tensor, heads: int, kv_heads: int) -> Tuple[Tensor, Tensor, Tensor]:
    size = self.size(2) // (heads + 2 * kv_heads)
    q, k, v = torch.split_with_sizes(self, [heads * size, kv_heads * size, kv_heads * size], 2)
    return (q, k, v)


# The place of the first of the rows in each sequence: [batch, 1], or [1, 1] of a prompt. lengths: of the sequences, less one.
def _gqa_starts(rows: int, lengths: Tensor, total: int) -> Tensor:
    if rows == total:
        return torch.zeros([1, 1], dtype=4)
    return torch.reshape(torch.to(lengths, 4) + (1 - rows), [-1, 1])


# Of a prompt the first position counts alone.
def onnx_gqa_positions(rows: int, lengths: Tensor, total: int, given: Optional[Tensor]) -> Tensor:
    if given is not None:
        if rows == total:
            return torch.slice(torch.reshape(given, [1, -1]), 1, 0, 1) + torch.arange(rows)
        return given
    return __torch__.operators.onnx_contrib._gqa_starts(rows, lengths, total) + torch.arange(rows)


# The rows so far and new ones, after those of the same sequence; nothing (0) follows.
def onnx_gqa_cache(past: Optional[Tensor], new: Tensor, lengths: Tensor, total: int, heads: int) -> Tensor:
    x = __torch__.operators.onnx_contrib._contrib_heads(new, heads)
    rows = x.size(2)
    if past is None:
        if rows != total:
            torch.ops.ctsc.fail("there are {} keys, {} of them new, and none before".format(total, rows))
        return x
    before = past.size(2)
    if rows == total and before == 0:
        return x
    if total > before + rows:
        torch.ops.ctsc.fail("there are {} keys, {} of them new, and {} before".format(total, rows, before))
    size = max(before, total)
    starts = __torch__.operators.onnx_contrib._gqa_starts(rows, lengths, total)
    first = int(torch.min(starts))
    last = int(torch.max(starts))
    if first < 0 or last > before or last + rows > size:
        torch.ops.ctsc.fail("new keys begin at {} to {} of {}, but there are only {} so far".format(first, last, total, before))
    if first == last:
        head = torch.slice(past, 2, 0, first)
        rest = size - first - rows
        if rest == 0:
            return torch.cat([head, x], 2)
        return torch.cat([head, x, torch.zeros([x.size(0), heads, rest, x.size(3)], dtype=x.dtype)], 2)
    all = torch.cat([past, x, torch.zeros([x.size(0), heads, 1, x.size(3)], dtype=x.dtype)], 2)
    at = torch.arange(size)
    moved = at - starts
    index = torch.where(torch.lt(moved, 0), at, torch.where(torch.lt(moved, rows), moved + before, before + rows))
    return torch.gather(all, 2, torch.expand(torch.reshape(index, [-1, 1, size, 1]), [x.size(0), heads, size, x.size(3)]))


# Which keys a row sees.
def onnx_gqa_mask(rows: int, lengths: Tensor, total: int, causal: bool, window: int) -> Tensor:
    columns = torch.arange(total)
    if causal:
        at = __torch__.operators.onnx_contrib._gqa_starts(rows, lengths, total) + torch.arange(rows)
        at = torch.reshape(at, [-1, 1, rows, 1])
        seen = torch.le(columns, at)
        if window > 0:
            seen = torch.logical_and(seen, torch.gt(columns, at - window))
        return seen
    return torch.lt(columns, torch.reshape(torch.to(lengths, 4) + 1, [-1, 1, 1, 1]))


def _gqa_steps(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, bias: Optional[Tensor], sinks: Optional[Tensor], scale: Optional[float], softcap: float, smooth: bool, mode: int) -> Tuple[Tensor, Tensor]:
    times = q.size(1) // k.size(1)
    keys = torch.repeat_interleave(k, times, 1)
    values = torch.repeat_interleave(v, times, 1)
    factor = float(q.size(3)) ** -0.5
    if scale is not None:
        factor = scale
    scores = torch.matmul(q * factor, torch.transpose(keys, 2, 3))
    if softcap > 0:
        scores = torch.tanh(scores / softcap) * softcap
    if bias is not None:
        scores = scores + bias
    hidden = torch.masked_fill(scores, torch.logical_not(mask), float("-inf"))
    weights = hidden
    if sinks is not None or smooth:
        sink = torch.zeros([1, 1, 1, 1], dtype=q.dtype)
        if sinks is not None:
            sink = torch.reshape(sinks, [1, -1, 1, 1])
        sink = torch.expand(sink, [q.size(0), q.size(1), q.size(2), 1])
        weights = torch.slice(torch.softmax(torch.cat([hidden, sink], 3), -1), 3, 0, hidden.size(3))
    else:
        weights = torch.softmax(hidden, -1)
    shown = weights
    if mode == 1:
        shown = torch.masked_fill(scores, torch.logical_not(mask), 0.0)
    return (__torch__.operators.onnx_contrib._contrib_merged(torch.matmul(weights, values)), shown)


# plain: rows see the keys before them, and no others are left out.
def onnx_gqa(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, total: int, bias: Optional[Tensor], sinks: Optional[Tensor], heads: int, scale: Optional[float], softcap: float, plain: bool, smooth: bool, mode: int) -> Tuple[Tensor, Tensor]:
    q = __torch__.operators.onnx_contrib._contrib_heads(query, heads)
    k = key
    v = value
    if total < key.size(2):
        k = torch.slice(key, 2, 0, total)
        v = torch.slice(value, 2, 0, total)
    if sinks is not None or softcap > 0 or smooth or mode != 0:
        return __torch__.operators.onnx_contrib._gqa_steps(q, k, v, mask, bias, sinks, scale, softcap, smooth, mode)
    y = q
    if bias is not None:
        added = torch.masked_fill(bias, torch.logical_not(mask), float("-inf"))
        y = torch.scaled_dot_product_attention(q, k, v, added, 0.0, False, scale=scale, enable_gqa=True)
    elif plain and q.size(2) == total:
        y = torch.scaled_dot_product_attention(q, k, v, None, 0.0, True, scale=scale, enable_gqa=True)
    else:
        y = torch.scaled_dot_product_attention(q, k, v, mask, 0.0, False, scale=scale, enable_gqa=True)
    y = __torch__.operators.onnx_contrib._contrib_merged(y)
    return (y, y)
