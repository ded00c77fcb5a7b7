/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_cases.h - programs with loops over numbers and elements, and arguments for them.
 *
 * Arguments: f[2,3] is a float32 tensor of that size, d, h, b float64, float16, bfloat16, i and w
 * int64 and int32; filled with numbers in [0, 1), ints with small ones; else an int or a float.
 */
#ifndef CTSC_TESTS_LOOP_CASES_H
#define CTSC_TESTS_LOOP_CASES_H

typedef struct loop_case { const char *args, *source; } loop_case;

/* clang-format off */
static const loop_case loop_cases[] = {
    /* tensors that branches and rounds pass on */
    {"f[8,5] f[8]",
     "def forward(x: Tensor, w: Tensor) -> float:\n"
     "    s = 0.0\n"
     "    for i in range(x.shape[0]):\n"
     "        row = x[i]\n"
     "        if float(w[i]) > 0.5:\n"
     "            row = row.mul_(2)\n"
     "        s += float(row[0]) + float(row[1])\n"
     "    return s\n"},
    {"f[8,5] f[8]",
     "def forward(x: Tensor, w: Tensor) -> Tensor:\n"
     "    for i in range(x.shape[0]):\n"
     "        row = x[i]\n"
     "        if float(w[i]) > 0.5:\n"
     "            row = row.mul_(2)\n"
     "        else:\n"
     "            row = row.add_(float(w[i]))\n"
     "        row[0] = row[1] - row[2]\n"
     "    return x\n"},
    {"f[1000] f[1000] f[1000]",
     "def forward(x: Tensor, y: Tensor, out: Tensor):\n"
     "    for i in range(x.shape[0]):\n"
     "        out[i] = x[i] + y[i]\n"
     "    return out\n"},
    {"f[100]",
     "def forward(x: Tensor) -> float:\n"
     "    s = 0.0\n"
     "    n = len(x)\n"
     "    for i in range(n):\n"
     "        for j in range(n):\n"
     "            s += x[i].item() * float(x[j])\n"
     "    return s\n"},
    {"f[100]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    s = torch.zeros(())\n"
     "    for i in range(x.size(0)):\n"
     "        for j in range(x.size(0)):\n"
     "            s = s + x[i] * x[j]\n"
     "    return s\n"},
    {"f[100]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    s = torch.tensor(0.0)\n"
     "    for i in range(x.size(0)):\n"
     "        for j in range(x.size(0)):\n"
     "            s += x[i] * x[j]\n"
     "    return s\n"},
    {"f[20,30] f[30,40]",
     "def forward(a: Tensor, b: Tensor) -> Tensor:\n"
     "    n, k = a.shape\n"
     "    m = b.shape[1]\n"
     "    c = torch.zeros(n, m)\n"
     "    for i in range(n):\n"
     "        for j in range(m):\n"
     "            s = 0.0\n"
     "            for t in range(k):\n"
     "                s += a[i, t].item() * b[t, j].item()\n"
     "            c[i, j] = s\n"
     "    return c\n"},
    {"f[20,30] f[30,40]",
     "def forward(a: Tensor, b: Tensor) -> Tensor:\n"
     "    n, k = a.shape\n"
     "    m = b.shape[1]\n"
     "    c = torch.zeros(n, m)\n"
     "    for i in range(n):\n"
     "        for j in range(m):\n"
     "            for t in range(k):\n"
     "                c[i, j] += a[i, t] * b[t, j]\n"
     "    return c\n"},
    {"f[1000] 0.9",
     "def forward(x: Tensor, a: float) -> Tensor:\n"
     "    out = torch.empty_like(x)\n"
     "    s = 0.0\n"
     "    for t in range(x.shape[0]):\n"
     "        s = a * s + float(x[t])\n"
     "        out[t] = s\n"
     "    return out\n"},
    {"f[1000]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    out = torch.zeros_like(x)\n"
     "    out[0] = x[0]\n"
     "    for t in range(1, x.shape[0]):\n"
     "        out[t] = out[t - 1] + x[t]\n"
     "    return out\n"},
    {"5000",
     "def forward(n: int) -> int:\n"
     "    flags = torch.ones(n, dtype=torch.bool)\n"
     "    count = 0\n"
     "    for i in range(2, n):\n"
     "        if bool(flags[i]):\n"
     "            count += 1\n"
     "            j = i * i\n"
     "            while j < n:\n"
     "                flags[j] = False\n"
     "                j += i\n"
     "    return count\n"},
    {"90",
     "def forward(n: int) -> int:\n"
     "    a, b = 0, 1\n"
     "    for _ in range(n):\n"
     "        a, b = b, a + b\n"
     "    return a\n"},
    {"f[1000] 0.999",
     "def forward(x: Tensor, y: float) -> int:\n"
     "    for i in range(len(x)):\n"
     "        if x[i] > y:\n"
     "            return i\n"
     "    return -1\n"},
    {"f[200] 10",
     "def forward(u: Tensor, steps: int) -> Tensor:\n"
     "    n = u.shape[0]\n"
     "    v = u.clone()\n"
     "    for s in range(steps):\n"
     "        for i in range(1, n - 1):\n"
     "            v[i] = u[i] + 0.1 * (u[i-1] - 2 * u[i] + u[i+1])\n"
     "        for i in range(1, n - 1):\n"
     "            u[i] = v[i]\n"
     "    return u\n"},
    {"f[30]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    n = x.shape[0]\n"
     "    out = torch.zeros(n, n)\n"
     "    for i in range(n):\n"
     "        for j in range(i + 1, n):\n"
     "            out[i, j] = x[i] * x[j]\n"
     "            out[j, i] = -out[i, j]\n"
     "    return out\n"},
    {"f[100]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    m = x[0]\n"
     "    for i in range(1, x.shape[0]):\n"
     "        if x[i] > m:\n"
     "            m = x[i]\n"
     "    return m\n"},
    {"f[100]",
     "def forward(x: Tensor) -> Tuple[int, float]:\n"
     "    b = 0\n"
     "    best = -1e30\n"
     "    for i in range(len(x)):\n"
     "        v = x[i].item()\n"
     "        if v > best:\n"
     "            best = float(v)\n"
     "            b = i\n"
     "    return b, best\n"},
    {"f[60]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    y = x.clone()\n"
     "    n = y.size(0)\n"
     "    for i in range(n):\n"
     "        for j in range(n - 1 - i):\n"
     "            if y[j] > y[j + 1]:\n"
     "                t = float(y[j])\n"
     "                y[j] = y[j + 1]\n"
     "                y[j + 1] = t\n"
     "    return y\n"},
    {"f[500] 10",
     "def forward(x: Tensor, bins: int) -> Tensor:\n"
     "    h = torch.zeros(bins, dtype=torch.long)\n"
     "    for i in range(x.numel()):\n"
     "        k = int(x[i] * bins)\n"
     "        k = min(k, bins - 1)\n"
     "        h[k] += 1\n"
     "    return h\n"},
    {"f[100] f[5]",
     "def forward(x: Tensor, w: Tensor) -> Tensor:\n"
     "    n = x.shape[0]\n"
     "    m = w.shape[0]\n"
     "    out = torch.zeros(n - m + 1)\n"
     "    for i in range(n - m + 1):\n"
     "        out[i] = torch.sum(x[i:i + m] * w)\n"
     "    return out\n"},
    {"f[100] f[3]",
     "def forward(x: Tensor, w: Tensor) -> Tensor:\n"
     "    n = x.shape[0]\n"
     "    out = torch.zeros(n - 2)\n"
     "    for i in range(n - 2):\n"
     "        out[i] = (x[i:i + 3] * w).sum()\n"
     "    return out\n"},
    {"i[40] i[50]",
     "def forward(a: Tensor, b: Tensor) -> int:\n"
     "    n = a.size(0)\n"
     "    m = b.size(0)\n"
     "    d = torch.zeros(n + 1, m + 1, dtype=torch.int64)\n"
     "    for i in range(n + 1):\n"
     "        d[i, 0] = i\n"
     "    for j in range(m + 1):\n"
     "        d[0, j] = j\n"
     "    for i in range(1, n + 1):\n"
     "        for j in range(1, m + 1):\n"
     "            c = 0 if a[i - 1] == b[j - 1] else 1\n"
     "            d[i, j] = min(min(int(d[i - 1, j]) + 1, int(d[i, j - 1]) + 1), int(d[i - 1, j - 1]) + c)\n"
     "    return int(d[n, m])\n"},
    {"f[20,20]",
     "def forward(w: Tensor) -> Tensor:\n"
     "    d = w.clone()\n"
     "    n = d.shape[0]\n"
     "    for k in range(n):\n"
     "        for i in range(n):\n"
     "            for j in range(n):\n"
     "                v = d[i, k] + d[k, j]\n"
     "                if v < d[i, j]:\n"
     "                    d[i, j] = v\n"
     "    return d\n"},
    {"i[10,12]",
     "def forward(g: Tensor) -> Tensor:\n"
     "    h, w = g.shape\n"
     "    out = torch.zeros_like(g)\n"
     "    for i in range(h):\n"
     "        for j in range(w):\n"
     "            c = 0\n"
     "            for di in range(-1, 2):\n"
     "                for dj in range(-1, 2):\n"
     "                    if di != 0 or dj != 0:\n"
     "                        c += int(g[(i + di) % h, (j + dj) % w])\n"
     "            if int(g[i, j]) == 1:\n"
     "                out[i, j] = 1 if c == 2 or c == 3 else 0\n"
     "            else:\n"
     "                out[i, j] = 1 if c == 3 else 0\n"
     "    return out\n"},
    {"1000 12345",
     "def forward(n: int, seed: int) -> int:\n"
     "    x = seed\n"
     "    for i in range(n):\n"
     "        x = (x * 6364136223846793005 + 1442695040888963407)\n"
     "        x = x ^ (x >> 13)\n"
     "    return x\n"},
    {"2.0",
     "def forward(a: float) -> float:\n"
     "    x = a\n"
     "    while abs(x * x - a) > 1e-12:\n"
     "        x = 0.5 * (x + a / x)\n"
     "    return x\n"},
    {"f[20,50] f[20,50]",
     "def forward(x: Tensor, y: Tensor) -> Tensor:\n"
     "    out = torch.zeros_like(x)\n"
     "    for i in range(x.shape[0]):\n"
     "        out[i] = torch.tanh(x[i]) * y[i] + 1\n"
     "    return out\n"},
    {"f[20,50]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    out = torch.zeros(x.shape[1])\n"
     "    for i in range(x.shape[0]):\n"
     "        out += x[i]\n"
     "    return out\n"},
    {"f[20,50]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    out = torch.zeros_like(x)\n"
     "    out[0] = x[0]\n"
     "    for i in range(1, x.shape[0]):\n"
     "        out[i] = out[i - 1] * 0.5 + x[i]\n"
     "    return out\n"},
    {"f[20,50]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    for i in range(x.shape[0]):\n"
     "        x[i] /= x[i].sum()\n"
     "    return x\n"},
    {"f[50]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    n = x.shape[0]\n"
     "    out = torch.zeros(n)\n"
     "    for i in range(n):\n"
     "        out[-i - 1] = x[i]\n"
     "        if i > 0:\n"
     "            out[i] += x[i - 1]\n"
     "        if i < n - 1:\n"
     "            out[i] += x[i + 1]\n"
     "    return out\n"},
    {"100",
     "def forward(n: int) -> float:\n"
     "    s = 0.0\n"
     "    for i in range(1, n):\n"
     "        x = float(i) / 7\n"
     "        s += math.sin(x) * math.exp(-x) + math.sqrt(x) + math.floor(x) - math.ceil(x) + x ** 2 + i ** 2 + x // 3 + x % 2\n"
     "        s += math.log(x) + math.atan2(x, 2.0) + math.fabs(-x) + max(x, 2.0) + min(i, 5) + round(x) + (i << 2) + (i >> 1) + (i & 6) + abs(-i)\n"
     "    return s\n"},
    {"f[10,20]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    out = torch.zeros(x.shape[0])\n"
     "    for i in range(x.shape[0]):\n"
     "        s = torch.zeros(())\n"
     "        for j in range(x.shape[1]):\n"
     "            s += x[i, j] * x[i, j]\n"
     "        out[i] = torch.sqrt(s)\n"
     "    return out\n"},
    {"f[50,50]",
     "def forward(x: Tensor) -> int:\n"
     "    for i in range(x.shape[0]):\n"
     "        for j in range(x.shape[1]):\n"
     "            if float(x[i, j]) > 0.99:\n"
     "                return i * 1000 + j\n"
     "    return -1\n"},
    {"1000",
     "def forward(n: int) -> int:\n"
     "    s = 0\n"
     "    for i in range(n):\n"
     "        if i % 3 == 0:\n"
     "            continue\n"
     "        if i > 500:\n"
     "            break\n"
     "        s += i\n"
     "    return s\n"},
    {"f[50]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    n = x.shape[0]\n"
     "    out = torch.empty_like(x)\n"
     "    for i in range(n):\n"
     "        l = max(i - 1, 0)\n"
     "        r = min(i + 1, n - 1)\n"
     "        out[i] = (x[l] + x[i] + x[r]) / 3\n"
     "    return out\n"},
    {"f[13,17]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    out = torch.zeros(x.shape[1], x.shape[0])\n"
     "    for i in range(x.shape[0]):\n"
     "        for j in range(x.shape[1]):\n"
     "            out[j, i] = x[i, j]\n"
     "    return out\n"},
    {"h[100]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    s = torch.zeros((), dtype=x.dtype)\n"
     "    for i in range(x.shape[0]):\n"
     "        s = s + x[i] * 0.5\n"
     "    return s\n"},
    {"b[100]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    s = torch.zeros((), dtype=x.dtype)\n"
     "    for i in range(x.shape[0]):\n"
     "        s = s + x[i] * 0.5\n"
     "    return s\n"},
    {"d[100]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    s = torch.zeros((), dtype=x.dtype)\n"
     "    for i in range(x.shape[0]):\n"
     "        s = s + x[i] * 0.5\n"
     "    return s\n"},
    {"f[50]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    out = torch.zeros_like(x)\n"
     "    s = 0.0\n"
     "    for i in range(x.shape[0] - 1, -1, -1):\n"
     "        s = s * 0.5 + x[i].item()\n"
     "        out[i] = s\n"
     "    return out\n"},
    {"f[50]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    out = torch.zeros_like(x)\n"
     "    for i in range(0, x.shape[0], 3):\n"
     "        out[i] = x[i] * 2\n"
     "    return out\n"},
    {"f[5,6]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    for i in range(x.shape[0]):\n"
     "        x[i] = x[i] * x[i, 0] + 1\n"
     "    return x\n"},
    {"f[50]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    m = torch.zeros(x.shape[0], dtype=torch.bool)\n"
     "    for i in range(x.shape[0]):\n"
     "        m[i] = x[i] > 0.5 and x[i] < 0.75\n"
     "    return m\n"},
    {"f[10,20] f[20,7]",
     "def forward(a: Tensor, b: Tensor) -> Tensor:\n"
     "    out = torch.zeros(a.shape[0], b.shape[1])\n"
     "    for i in range(a.shape[0]):\n"
     "        for j in range(b.shape[1]):\n"
     "            out[i, j] = torch.dot(a[i], b[:, j])\n"
     "    return out\n"},
    {"f[10,20]",
     "def forward(a: Tensor) -> Tensor:\n"
     "    out = torch.zeros(a.shape[0], 3)\n"
     "    for i in range(a.shape[0]):\n"
     "        out[i, 0] = a[i].mean()\n"
     "        out[i, 1] = a[i].max()\n"
     "        out[i, 2] = torch.min(a[i])\n"
     "    return out\n"},
    /* the outer loop prints: the inner one is taken */
    {"f[6,40]",
     "def forward(x: Tensor) -> float:\n"
     "    s = 0.0\n"
     "    for i in range(x.shape[0]):\n"
     "        print(i)\n"
     "        for j in range(x.shape[1]):\n"
     "            s += float(x[i, j])\n"
     "    return s\n"},
    /* arguments that are not contiguous, or overlap themselves */
    {"f[7,9]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    t = x.t()\n"
     "    e = x[0].unsqueeze(0).expand(9, 9)\n"
     "    for i in range(t.shape[0]):\n"
     "        for j in range(t.shape[1]):\n"
     "            t[i, j] = t[i, j] * 2 + e[i, j] * i\n"
     "    return x\n"},
    {"f[12]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    y = x[::2]\n"
     "    for i in range(y.shape[0]):\n"
     "        y[i] += x[2 * i + 1]\n"
     "    return x\n"},
    /* no rounds, and one */
    {"f[0,4]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    s = torch.ones(())\n"
     "    for i in range(x.shape[0]):\n"
     "        s = s + x[i, 0]\n"
     "    return s\n"},
    {"f[1,4]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    s = torch.ones(())\n"
     "    for i in range(x.shape[0]):\n"
     "        s = s + x[i, 0]\n"
     "    return s\n"},
    /* bounds from the back that follow from the round */
    {"f[9,9] f[9]; f[4,6] f[4]; f[5,2] f[5]",
     "def forward(x: Tensor, out: Tensor):\n"
     "    n = x.shape[0]\n"
     "    for i in range(n):\n"
     "        out[i] = x[i, i - n:].sum() + 2 * x[i, :i - 2].sum() + 3 * x[i, -3:i + 1].sum() + 4 * x[i, -20:20].sum()\n"
     "    return out\n"},
    {"f[9,5] f[9] -3; f[9,5] f[9] 3; f[9,5] f[9] -7; f[9,5] f[9] 7",
     "def forward(x: Tensor, out: Tensor, k: int):\n"
     "    for i in range(x.shape[0]):\n"
     "        out[i] = x[i, k:].sum() + 2 * x[i, :k].sum()\n"
     "    return out\n"},
    /* rows of one element, and of constant length */
    {"f[5,3] f[5,4]; f[5,3] f[5,1]",
     "def forward(x: Tensor, out: Tensor):\n"
     "    for i in range(x.shape[0]):\n"
     "        out[i] = x[i, 0:1]\n"
     "    return out\n"},
    {"f[5,2] f[5,2]; f[5,3] f[5,2]; f[5,4] f[5,4]; f[5,1] f[5,1]",
     "def forward(x: Tensor, out: Tensor):\n"
     "    for i in range(x.shape[0]):\n"
     "        out[i] = x[i, 0:2]\n"
     "    return out\n"},
    {"f[3,4,5] f[3,4]",
     "def forward(x: Tensor, out: Tensor):\n"
     "    for i in range(x.shape[0]):\n"
     "        for j in range(x.shape[1]):\n"
     "            out[i, j] = x[i].unsqueeze(1)[j, 0, 4] + x[i].unsqueeze(0)[0, j, 1] + x[i].unsqueeze(-1)[j, 2, 0]\n"
     "    return out\n"},
    /* 0.0 ** nan is not an error */
    {"f[4] 0.0 1.0; f[4] 0.0 -1.0; f[4] 2.0 -1.0",
     "def forward(x: Tensor, a: float, b: float) -> float:\n"
     "    s = 1.0\n"
     "    for i in range(x.shape[0]):\n"
     "        s = a ** (b * float('nan')) + a ** b\n"
     "    return s\n"},
    /* a slice that gets shorter from either side */
    {"f[300]",
     "def forward(x: Tensor) -> Tensor:\n"
     "    y = torch.zeros([1000])\n"
     "    for i in range(300):\n"
     "        y[i:700 - i] += x[i]\n"
     "    return y\n"},
    /* what a branch leaves is bounded by neither side's bound alone */
    {"f[8] 8",
     "def forward(x: Tensor, n: int) -> float:\n"
     "    s = 0.0\n"
     "    for i in range(x.shape[0]):\n"
     "        j = 1\n"
     "        if float(x[i]) > 0.5:\n"
     "            j = n - 2\n"
     "        s += float(x[j - (n - 2)]) * (i + 1)\n"
     "    return s\n"},
    /* a fresh tensor is written to */
    {"f[6]",
     "def forward(x: Tensor) -> float:\n"
     "    s = 0.0\n"
     "    for i in range(x.shape[0]):\n"
     "        y = x[i].mul(2).add_(1)\n"
     "        s += float(y)\n"
     "    return s\n"},
};
/* clang-format on */

#endif
