/* SPDX-License-Identifier: Apache-2.0 */
/* layout.js - where the boxes and lines of a graph go: layers from top to bottom, or from left to right; boxes within boxes.
 *
 *     layoutGraph(root, edges, options)
 *
 * root: a tree of items. A leaf has a size, {w, h, order}; a container {children: [item...], order, header, minWidth}. `order` is the place in
 * execution order: what comes later is lower where edges leave a choice, and where they go in a circle. edges: [{from, to, key}...] between
 * leaves; edges of one source with equal keys share their line as long as they go the same way. On return items have x, y, w, h, and edges
 * points, [x0, y0, x1, y1, ...]; the first and the last are on the borders of their leaves. options.across: layers from left to right.
 *
 * Method: that of Sugiyama, Tagawa and Toda (1981), for each container by itself, inner ones first. An edge that crosses a container's border does
 * so at a port, a vertex without size in the container's first or last layer; for the containers around, the inner one is a vertex with ports.
 *   1. Layers: longest paths; circles are broken at the item that is first in `order`.
 *   2. Vertices for the layers that an edge passes ("dummies"), one chain for all edges with one key.
 *   3. Crossings: sweeps by barycentre, then exchanges of neighbours; the best order seen is kept.
 *   4. Coordinates: Brandes and Koepf (2002), "Fast and simple horizontal coordinate assignment": four alignments, of which each vertex takes the
 *      mean of the middle two, or the narrowest if the mean drifts to a side. Vertices of a block are shifted so that ports, not centres, stand
 *      above one another.
 * Across, x and y are exchanged before and after; within, a container's header takes room from the side that is its top in the end.
 * Nothing here knows of documents: tests/view runs it with node.
 */
"use strict";

const LAYOUT = {gapX: 24, gapY: 48, gapAcross: 104, stub: 16, portGap: 14, pad: 16, sweeps: 12, transpose: 60};

/* ---- 1. layers ------------------------------------------------------------------------------- */

/* A level is the inside of one container: vertices 0..n-1 (items and ports), edges u -> v. layers: rank of each. Edges against the order of
 * a circle are turned (edge.turned). */
function layoutRanks(level) {
  const {n, edges, order} = level, rank = new Int32Array(n), open = new Int32Array(n), out = Array.from({length: n}, () => []);
  for (const e of edges) { out[e.u].push(e); open[e.v]++; }
  const ready = [], done = new Uint8Array(n), sorted = [...Array(n).keys()].sort((a, b) => order[a] - order[b]);
  for (const v of sorted) if (!open[v]) ready.push(v);
  let next = 0, left = n, at = 0;
  while (left) {
    if (at === ready.length) { /* a circle: the first item that is left begins */
      while (done[sorted[next]]) next++;
      ready.push(sorted[next]);
    }
    const u = ready[at++];
    if (done[u]) continue;
    done[u] = 1; left--;
    for (const e of out[u]) {
      if (done[e.v]) { e.turned = true; continue; }
      rank[e.v] = Math.max(rank[e.v], rank[u] + 1);
      if (--open[e.v] === 0) ready.push(e.v);
    }
  }
  for (const e of edges) if (e.turned) { const u = e.u; e.u = e.v; e.v = u; }
  layoutFixRanks(level, rank, ready);
  return rank;
}

/* Longest paths again, now that no circle is left; ports at the borders; what has no input goes down to where it is used. */
function layoutFixRanks(level, rank) {
  const {n, edges, port} = level, ins = Array.from({length: n}, () => []), outs = Array.from({length: n}, () => []), open = new Int32Array(n);
  for (const e of edges) { ins[e.v].push(e.u); outs[e.u].push(e.v); open[e.v]++; }
  const queue = [];
  let last = 0;
  const hasIn = port.includes(1);
  for (let v = 0; v < n; v++) { rank[v] = port[v] === 1 || !hasIn ? 0 : 1; if (!open[v]) queue.push(v); }
  for (let i = 0; i < queue.length; i++) {
    const u = queue[i];
    last = Math.max(last, rank[u]);
    for (const v of outs[u]) { rank[v] = Math.max(rank[v], rank[u] + 1); if (--open[v] === 0) queue.push(v); }
  }
  for (let i = queue.length - 1; i >= 0; i--) {
    const u = queue[i];
    if (port[u] || ins[u].length || !outs[u].length) continue;
    rank[u] = Math.min(...outs[u].map(v => rank[v])) - 1;
  }
  if (port.includes(2)) {
    last = 0;
    for (let v = 0; v < n; v++) if (port[v] !== 2) last = Math.max(last, rank[v]);
    for (let v = 0; v < n; v++) if (port[v] === 2) rank[v] = last + 1;
  }
}

/* ---- 2. dummies ------------------------------------------------------------------------------ */

/* Adds dummies: level.vertices grows, level.layers are lists of vertices, level.up and level.down their neighbours as [vertex, own offset from the
 * centre, the neighbour's, ...], edge.chain the vertices that an edge goes through. */
function layoutChains(level, rank) {
  const {n, edges, width} = level, ranks = [...rank], widths = [...width], chains = new Map(), seen = new Set();
  const up = Array.from({length: n}, () => []), down = Array.from({length: n}, () => []);
  const link = (a, b, pa, pb) => {
    const id = a * 4194304 + b, again = seen.has(id);
    seen.add(id);
    if (again && a >= n && b >= n) return;
    down[a].push(b, pa, pb); up[b].push(a, pb, pa);
  };
  const sorted = edges.slice().sort((a, b) => rank[a.v] - rank[b.v]);
  for (const e of sorted) {
    const key = e.turned ? e : e.key + "\n" + e.u; /* turned edges go alone */
    let chain = chains.get(key);
    if (!chain) chains.set(key, chain = [e.u]);
    while (rank[e.u] + chain.length < rank[e.v]) {
      const d = ranks.length, above = chain[chain.length - 1];
      ranks.push(rank[e.u] + chain.length); widths.push(0); up.push([]); down.push([]);
      link(above, d, above < n ? e.pu : 0, 0);
      chain.push(d);
    }
    const above = chain[rank[e.v] - rank[e.u] - 1];
    link(above, e.v, above < n ? e.pu : 0, e.pv);
    e.chain = chain.slice(0, rank[e.v] - rank[e.u]).concat(e.v);
  }
  level.total = ranks.length;
  level.widths = widths; level.ranks = ranks; level.up = up; level.down = down;
  level.layers = Array.from({length: ranks.reduce((a, b) => Math.max(a, b), 0) + 1}, () => []);
}

/* ---- 3. crossings ---------------------------------------------------------------------------- */

/* Depth first from the top, in the items' order: what belongs together starts side by side. */
function layoutFirstOrder(level) {
  const {total, down, up, ranks, layers, order} = level, seen = new Uint8Array(total);
  const key = v => v < order.length ? order[v] : 0, roots = [...Array(total).keys()].filter(v => !up[v].length).sort((a, b) => key(a) - key(b));
  for (const root of roots) {
    const stack = [root];
    while (stack.length) {
      const v = stack.pop();
      if (seen[v]) continue;
      seen[v] = 1;
      layers[ranks[v]].push(v);
      for (let i = down[v].length - 3; i >= 0; i -= 3) if (!seen[down[v][i]]) stack.push(down[v][i]);
    }
  }
}

/* Crossings between layer r and the next (Barth, Juenger, Mutzel 2002: inversions, counted in a tree of sums). */
function layoutCrossingsBelow(level, r, position) {
  const {layers, down} = level, size = layers[r + 1].length, ends = [];
  for (const u of layers[r]) {
    const mine = [];
    for (let i = 0; i < down[u].length; i += 3) mine.push(position[down[u][i]]);
    mine.sort((a, b) => a - b);
    for (const p of mine) ends.push(p);
  }
  let first = 1, sum = 0;
  while (first < size) first *= 2;
  const tree = new Int32Array(2 * first);
  for (const p of ends) {
    for (let at = p + first; at > 1; at >>= 1) { tree[at]++; if (!(at & 1)) sum += tree[at + 1]; }
  }
  return sum;
}

function layoutPositions(level, position) {
  for (const layer of level.layers) for (let i = 0; i < layer.length; i++) position[layer[i]] = i;
}

function layoutCrossings(level, position) {
  let sum = 0;
  for (let r = 0; r + 1 < level.layers.length; r++) sum += layoutCrossingsBelow(level, r, position);
  return sum;
}

/* Sorts a layer by the mean position of its neighbours in the layer above (up) or below; a port counts for where it is on its vertex. */
function layoutSortLayer(level, r, near, position) {
  const layer = level.layers[r], widths = level.widths, value = new Map();
  layer.forEach((v, at) => {
    let sum = 0, list = near[v];
    for (let i = 0; i < list.length; i += 3) sum += position[list[i]] + (widths[list[i]] ? list[i + 2] / widths[list[i]] : 0);
    value.set(v, list.length ? 3 * sum / list.length : at);
  });
  layer.sort((a, b) => value.get(a) - value.get(b) || position[a] - position[b]);
  layer.forEach((v, at) => { position[v] = at; });
}

/* How many edges of u cross edges of v, if u is left of v. */
function layoutPairCrossings(near, u, v, position) {
  let sum = 0;
  for (let i = 0; i < near[u].length; i += 3)
    for (let k = 0; k < near[v].length; k += 3) sum += position[near[u][i]] > position[near[v][k]];
  return sum;
}

function layoutTranspose(level, position) {
  const {layers, up, down} = level;
  for (let again = true, round = 0; again && round < 4; round++) {
    again = false;
    for (const layer of layers) {
      if (layer.length > LAYOUT.transpose) continue;
      for (let i = 0; i + 1 < layer.length; i++) {
        const u = layer[i], v = layer[i + 1];
        const now = layoutPairCrossings(up, u, v, position) + layoutPairCrossings(down, u, v, position);
        if (!now || layoutPairCrossings(up, v, u, position) + layoutPairCrossings(down, v, u, position) >= now) continue;
        layer[i] = v; layer[i + 1] = u;
        position[v] = i; position[u] = i + 1;
        again = true;
      }
    }
  }
}

function layoutOrder(level) {
  const {layers, up, down} = level, position = new Int32Array(level.total);
  layoutFirstOrder(level);
  layoutPositions(level, position);
  let best = layers.map(l => l.slice()), least = layoutCrossings(level, position);
  const sweeps = level.total > 4000 ? 4 : LAYOUT.sweeps;
  for (let i = 0, idle = 0; i < sweeps && least && idle < 4; i++) {
    if (i % 2) for (let r = layers.length - 2; r >= 0; r--) layoutSortLayer(level, r, down, position);
    else for (let r = 1; r < layers.length; r++) layoutSortLayer(level, r, up, position);
    if (i > 1) layoutTranspose(level, position);
    const crossings = layoutCrossings(level, position);
    idle = crossings < least ? 0 : idle + 1;
    if (crossings < least) { least = crossings; best = layers.map(l => l.slice()); }
  }
  level.layers = best;
  level.crossings = least;
  layoutPositions(level, position);
  level.position = position;
}

/* ---- 4. coordinates -------------------------------------------------------------------------- */

/* Edges that cross one between two dummies: they give way. A set of u * total + v. */
function layoutConflicts(level) {
  const {layers, up, position, n, total} = level, conflicts = new Set();
  for (let r = 1; r < layers.length; r++) {
    const above = layers[r - 1].length;
    let from = 0, scan = 0;
    layers[r].forEach((v, at) => {
      let inner = -1;
      if (v >= n) for (let i = 0; i < up[v].length; i += 3) if (up[v][i] >= n) inner = position[up[v][i]];
      if (inner < 0 && at !== layers[r].length - 1) return;
      const to = inner < 0 ? above : inner;
      for (; scan <= at; scan++) {
        const w = layers[r][scan];
        for (let i = 0; i < up[w].length; i += 3) {
          const p = position[up[w][i]];
          if ((p < from || p > to) && !(w >= n && up[w][i] >= n)) conflicts.add(up[w][i] * total + w);
        }
      }
      from = to === above ? from : to;
    });
  }
  return conflicts;
}

/* One of the four: blocks of vertices that stand above one another. fromTop: each vertex looks for its partner in the layer above; fromLeft:
 * vertices on the left choose first. shift: of a vertex against its block. */
function layoutAlign(level, conflicts, fromTop, fromLeft) {
  const {layers, position, total} = level, near = fromTop ? level.up : level.down;
  const root = Int32Array.from({length: total}, (_, v) => v), taken = new Uint8Array(total), shift = new Float64Array(total);
  const list = fromTop ? layers : layers.slice().reverse();
  for (let r = 1; r < list.length; r++) {
    const layer = fromLeft ? list[r] : list[r].slice().reverse();
    let bound = fromLeft ? -1 : Infinity;
    for (const v of layer) {
      const count = near[v].length / 3;
      if (!count) continue;
      const sorted = count === 1 ? null : [...Array(count).keys()].sort((a, b) => position[near[v][3 * a]] - position[near[v][3 * b]]);
      for (let half = 0; half < 2 - (count & 1); half++) {
        const i = !sorted ? 0 : sorted[(half === 0) === fromLeft ? (count - 1) >> 1 : count >> 1];
        const u = near[v][3 * i], p = position[u];
        if (taken[u] || (fromLeft ? p <= bound : p >= bound) || conflicts.has(fromTop ? u * total + v : v * total + u)) continue;
        taken[u] = 1;
        root[v] = root[u];
        shift[v] = shift[u] + near[v][3 * i + 2] - near[v][3 * i + 1];
        bound = p;
        break;
      }
    }
  }
  return {root, shift};
}

/* Places blocks as far left as they go (fromLeft; else right), then moves each towards those that hold it. Returns x of each vertex. */
function layoutCompact(level, blocks, fromLeft) {
  const {layers, widths, total, n} = level, {root, shift} = blocks, sign = fromLeft ? 1 : -1;
  const after = new Map(), before = new Map(), waits = new Int32Array(total), x = new Float64Array(total);
  for (const layer of layers)
    for (let i = 0; i + 1 < layer.length; i++) {
      const u = fromLeft ? layer[i] : layer[i + 1], v = fromLeft ? layer[i + 1] : layer[i], a = root[u], b = root[v];
      const gap = u >= n || v >= n || !widths[u] || !widths[v] ? LAYOUT.portGap : LAYOUT.gapX;
      const apart = (widths[u] + widths[v]) / 2 + gap + sign * (shift[u] - shift[v]);
      if (!after.has(a)) after.set(a, []);
      if (!before.has(b)) before.set(b, []);
      after.get(a).push(b, apart); before.get(b).push(a, apart);
      waits[b]++;
    }
  const queue = [];
  for (let v = 0; v < total; v++) if (root[v] === v && !waits[v]) queue.push(v);
  for (let i = 0; i < queue.length; i++) {
    const list = after.get(queue[i]) || [];
    for (let k = 0; k < list.length; k += 2) {
      x[list[k]] = Math.max(x[list[k]], x[queue[i]] + list[k + 1]);
      if (--waits[list[k]] === 0) queue.push(list[k]);
    }
  }
  for (let i = queue.length - 1; i >= 0; i--) {
    const list = after.get(queue[i]) || [];
    let room = Infinity;
    for (let k = 0; k < list.length; k += 2) room = Math.min(room, x[list[k]] - list[k + 1]);
    if (room !== Infinity) x[queue[i]] = Math.max(x[queue[i]], room);
  }
  const out = new Float64Array(total);
  for (let v = 0; v < total; v++) out[v] = sign * x[root[v]] + shift[v];
  return out;
}

function layoutExtent(level, x) {
  let min = Infinity, max = -Infinity;
  for (let v = 0; v < level.total; v++) {
    min = Math.min(min, x[v] - level.widths[v] / 2);
    max = Math.max(max, x[v] + level.widths[v] / 2);
  }
  return [min, max];
}

function layoutX(level) {
  const conflicts = layoutConflicts(level), four = [];
  for (const fromTop of [true, false])
    for (const fromLeft of [true, false]) four.push(layoutCompact(level, layoutAlign(level, conflicts, fromTop, fromLeft), fromLeft));
  const extents = four.map(x => layoutExtent(level, x));
  let narrow = 0;
  extents.forEach((e, i) => { if (e[1] - e[0] < extents[narrow][1] - extents[narrow][0]) narrow = i; });
  four.forEach((x, i) => {
    const move = i % 2 ? extents[narrow][1] - extents[i][1] : extents[narrow][0] - extents[i][0];
    for (let v = 0; v < x.length; v++) x[v] += move;
  });
  const x = new Float64Array(level.total);
  for (let v = 0; v < x.length; v++) {
    const s = [four[0][v], four[1][v], four[2][v], four[3][v]].sort((a, b) => a - b);
    x[v] = (s[1] + s[2]) / 2;
  }
  const mean = layoutExtent(level, x), best = four[narrow];
  const chosen = extents[narrow][1] - extents[narrow][0] < .8 * (mean[1] - mean[0]) ? best : x;
  layoutSpread(level, chosen);
  return chosen;
}

/* The mean of four placements without overlaps has none, but for rounding. */
function layoutSpread(level, x) {
  for (const layer of level.layers)
    for (let i = 1; i < layer.length; i++) {
      const u = layer[i - 1], v = layer[i], least = x[u] + (level.widths[u] + level.widths[v]) / 2 + Math.min(LAYOUT.portGap, LAYOUT.gapX) / 2;
      if (x[v] < least) x[v] = least;
    }
}

/* ---- a container ----------------------------------------------------------------------------- */

/* The y of each layer's top, and its height; the height of all. gap: between two layers, more where lines go far to the side. */
function layoutY(level, heights, x, gap) {
  const tops = [], tall = level.layers.map(l => l.reduce((h, v) => Math.max(h, heights[v] || 0), 0));
  let y = 0;
  level.layers.forEach((layer, r) => {
    tops.push(y);
    let far = 0;
    for (const u of layer) for (let i = 0; i < level.down[u].length; i += 3) far = Math.max(far, Math.abs(x[u] - x[level.down[u][i]]));
    const border = tall[r] === 0 || (r + 1 < tall.length && tall[r + 1] === 0 && layer.some(v => heights[v]));
    y += tall[r] + (border ? gap / 2 : gap) + Math.min(60, far / 14);
  });
  return {tops, tall, height: y};
}

/* Lays out what is in a container. links: the edges of this level. Gives the container its size, and its children and ports x and y within it. */
function layoutContainer(box) {
  const {children, inPorts, outPorts, links} = box, vertices = [...children, ...inPorts, ...outPorts], n = vertices.length;
  vertices.forEach((v, i) => { v.index = i; });
  const level = {n, edges: [], order: vertices.map(v => v.order), port: vertices.map(v => v.side || 0), width: vertices.map(v => v.w)};
  for (const l of links)
    level.edges.push({u: l.u.index, v: l.v.index, key: l.key, link: l, pu: l.uPort ? l.uPort.x - l.u.w / 2 : 0, pv: l.vPort ? l.vPort.x - l.v.w / 2 : 0});
  for (const e of level.edges) e.home = [e.u, e.v];
  const rank = layoutRanks(level);
  for (const e of level.edges) if (e.turned) { const p = e.pu; e.pu = e.pv; e.pv = p; }
  layoutChains(level, rank);
  layoutOrder(level);
  const x = layoutX(level), heights = vertices.map(v => v.h), [min, max] = layoutExtent(level, x);
  const {across} = box, {tops, tall} = layoutY(level, heights, x, across ? LAYOUT.gapAcross : LAYOUT.gapY);
  const pad = box.parent ? LAYOUT.pad : 24, inner = Math.max(max - min, across ? 0 : (box.minWidth || 0) - 2 * pad), side = across ? box.header : 0;
  const dx = side + pad - min + (inner - (max - min)) / 2, last = level.layers.length - 1, bottom = last < 0 ? 0 : tops[last] + tall[last];
  const head = across ? pad : box.header + (inPorts.length ? 0 : pad / 2);
  box.w = side + inner + 2 * pad;
  box.h = Math.max(head + bottom + (outPorts.length && !across ? 0 : pad), across ? box.minWidth || 0 : box.header + pad);
  vertices.forEach((v, i) => {
    v.x = dx + x[i] - v.w / 2;
    v.y = v.side === 1 ? 0 : v.side === 2 ? box.h : head + tops[rank[i]] + (tall[rank[i]] - v.h) / 2;
  });
  for (const e of level.edges) layoutRoute(e, level, x, vertices, {dx, head, tops, tall, rank, h: box.h});
  box.crossings = level.crossings;
}

/* The points of an edge within its container: straight down through a layer, the rest is between layers. */
function layoutRoute(e, level, x, vertices, at) {
  const points = [], c = e.chain, last = c.length - 1;
  const u = vertices[c[0]], v = vertices[c[last]];
  points.push(at.dx + x[c[0]] + e.pu, u.side ? u.y : u.y + u.h);
  if (u.side) points.push(at.dx + x[c[0]] + e.pu, at.head);
  else points.push(at.dx + x[c[0]] + e.pu, at.head + at.tops[at.rank[c[0]]] + at.tall[at.rank[c[0]]] + (u.children ? 0 : LAYOUT.stub));
  for (let i = 1; i < last; i++) {
    const r = level.ranks[c[i]], px = at.dx + x[c[i]];
    points.push(px, at.head + at.tops[r]);
    if (at.tall[r]) points.push(px, at.head + at.tops[r] + at.tall[r]);
  }
  if (!v.side && v.h < at.tall[at.rank[c[last]]]) points.push(at.dx + x[c[last]] + e.pv, at.head + at.tops[at.rank[c[last]]]);
  points.push(at.dx + x[c[last]] + e.pv, v.y);
  if (e.turned) { /* from the item below to the one above: out at its top, in at the other's bottom */
    const turned = [];
    for (let i = points.length - 2; i >= 0; i -= 2) turned.push(points[i], points[i + 1]);
    e.link.points = turned;
  } else {
    e.link.points = points;
  }
}

/* ---- containers in containers ---------------------------------------------------------------- */

function layoutPort(box, side, key, order) {
  const ports = side === 1 ? box.inByKey : box.outByKey;
  let p = ports.get(key);
  if (!p) {
    ports.set(key, p = {side, w: 0, h: 0, order, key, id: (side === 1 ? "i" : "o") + key});
    (side === 1 ? box.inPorts : box.outPorts).push(p);
  }
  return p;
}

/* The link u -> v of a level, once for each key. */
function layoutLink(box, u, v, key, uPort, vPort) {
  const id = key + "\n" + u.id + "\n" + v.id + (uPort ? "o" : "") + (vPort ? "i" : "");
  let l = box.byId.get(id);
  if (!l) {
    box.byId.set(id, l = {u, v, key, uPort, vPort, box});
    box.links.push(l);
  }
  return l;
}

/* Cuts an edge at the borders that it crosses: links from the source outwards, between siblings, inwards. */
function layoutCut(e) {
  let a = e.from, b = e.to, aPort = null, bPort = null;
  const outwards = [], inwards = [];
  while (a.parent !== b.parent) {
    if (a.parent.depth >= b.parent.depth) {
      const port = layoutPort(a.parent, 2, e.key, e.from.order);
      outwards.push(layoutLink(a.parent, a, port, e.key, aPort, null));
      a = a.parent; aPort = port;
    } else {
      const port = layoutPort(b.parent, 1, e.key, e.from.order);
      inwards.push(layoutLink(b.parent, port, b, e.key, null, bPort));
      b = b.parent; bPort = port;
    }
  }
  e.links = [...outwards, layoutLink(a.parent, a, b, e.key, aPort, bPort), ...inwards.reverse()];
}

function layoutBegin(item, parent, depth, counter) {
  item.parent = parent; item.depth = depth; item.id = counter.n++;
  if (counter.across && !item.children) [item.w, item.h] = [item.h, item.w];
  if (!item.children) return;
  item.across = counter.across;
  Object.assign(item, {inPorts: [], outPorts: [], inByKey: new Map(), outByKey: new Map(), links: [], byId: new Map()});
  for (const c of item.children) layoutBegin(c, item, depth + 1, counter);
}

function layoutInner(box) {
  for (const c of box.children) if (c.children) layoutInner(c);
  layoutContainer(box);
}

function layoutAbsolute(box, x, y) {
  box.x = x; box.y = y;
  for (const c of box.children) {
    if (c.children) layoutAbsolute(c, x + c.x, y + c.y);
    else { c.x += x; c.y += y; }
  }
}

/* One line of an edge's links; a point that repeats the one before is left out. */
function layoutJoin(e) {
  const points = [];
  for (const l of e.links) {
    for (let i = 0; i < l.points.length; i += 2) {
      const x = l.points[i] + l.box.x, y = l.points[i + 1] + l.box.y, n = points.length;
      if (n && Math.abs(points[n - 2] - x) < .01 && Math.abs(points[n - 1] - y) < .01) continue;
      points.push(x, y);
    }
  }
  e.points = points;
}

function layoutTurn(item) {
  [item.x, item.y, item.w, item.h] = [item.y, item.x, item.h, item.w];
  for (const c of item.children || []) layoutTurn(c);
}

function layoutGraph(root, edges, options) {
  const across = Boolean(options && options.across);
  root.order = 0; root.header = 0;
  layoutBegin(root, null, 0, {n: 0, across});
  for (const e of edges) layoutCut(e);
  layoutInner(root);
  layoutAbsolute(root, 0, 0);
  for (const e of edges) layoutJoin(e);
  if (!across) return;
  layoutTurn(root);
  for (const e of edges) for (let i = 0; i < e.points.length; i += 2) [e.points[i], e.points[i + 1]] = [e.points[i + 1], e.points[i]];
}

if (typeof module === "object") module.exports = {layoutGraph, LAYOUT};
