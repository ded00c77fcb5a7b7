/* SPDX-License-Identifier: Apache-2.0 */
/* diff.js - what two graphs have in common: which node of one is which of the other, and what differs between the two of a pair.
 *
 *     matchGraphs(a, b)                  {partner: [node of a -> node of b or -1, node of b -> node of a or -1]}
 *     graphDifferences(a, b, weights)    {partner, states: [of a's nodes, of b's nodes], list}
 *
 * a, b: GraphModels without plumbing; only nodes that are seen then are compared. A state is "", "removed" (of a), "added" (of b) or "changed"; list: the
 * differences in execution order, [{state, a, b, reasons: [text...]}], a or b: null. weights: [{name, state, from, most}] as cmd_view.c writes it.
 *
 * Method. Labels after Weisfeiler and Leman: a node's operator and weights' shapes, then, round by round, those of what is around it, by place of the
 * argument. What has a label as often in one graph as in the other is paired in order; larger neighbourhoods come first, since they are the safer sign,
 * and modules' names decide among equal ones. Or names come first: a block at the end of many alike is told by its name, one at their beginning, which
 * shifts all names, by what is around it. Both are tried, and what leaves fewer differences is taken. Pairs then spread along lines: users at the same place of paired nodes, with the same operator, are a pair.
 * A pair always has one operator (relu and relu_ count as one), and no node is in two pairs. Time is that of sorting the edges a few times.
 * Knows of no document: tests/view runs it with node. */
"use strict";

const DIFF_ROUNDS = 3;
const DIFF_WAYS = /^(?:cudnn_enabled?|allow_tf32|benchmark|deterministic)$/; /* arguments that say how, not what */

/* What is compared of a graph: its seen nodes, and lines as {from, to, place}. */
function diffSide(model) {
  const nodes = model.nodes.filter(n => model.seen[n.index]), known = new Uint8Array(model.nodes.length), lines = [];
  for (const n of nodes) known[n.index] = 1;
  for (const e of model.edges) if (known[e.from] && known[e.to]) lines.push({from: e.from, to: e.to, place: e.value < 0 ? -1 : diffPlace(model, e)});
  const ins = model.nodes.map(() => []), outs = model.nodes.map(() => []);
  for (const l of lines) { ins[l.to].push(l); outs[l.from].push(l); }
  return {model, nodes, ins, outs, base: model.nodes.map(diffBase), weights: model.nodes.map(n => known[n.index] ? diffWeights(model, n) : "")};
}

/* The argument that a line arrives at; -2: through a list or so. */
function diffPlace(model, e) {
  const i = model.nodes[e.to].in.indexOf(e.value);
  return i < 0 ? -2 : i;
}

function diffBase(n) {
  if (n.role) return n.role + (n.role === "input" || n.role === "output" ? "" : " " + n.kind);
  return n.kind.replace(/(\w)_$/, "$1");
}

/* Attributes of the module among a node's arguments: [[place, value]]. */
function diffParameters(model, n) {
  return n.in.map((v, i) => [i, model.values[v]]).filter(([, v]) => v.parameter && /\[/.test(v.type) && v.text === undefined);
}
function diffWeights(model, n) { return diffParameters(model, n).map(([i, v]) => i + v.type).join(" "); }
function diffPath(side, n) { return side.model.pathOf(side.model.boxes[n.box]); }

/* ---- pairs ----------------------------------------------------------------------------------- */

/* byName: names of modules come first. */
function matchGraphs(a, b, byName) {
  const sides = [diffSide(a), diffSide(b)], partner = [new Int32Array(a.nodes.length).fill(-1), new Int32Array(b.nodes.length).fill(-1)];
  const state = {sides, partner, queue: [], at: 0};
  const rounds = diffRounds(sides, s => s.model.nodes.map((n, i) => s.base[i] + " " + s.weights[i])), bare = diffRounds(sides, s => s.base);
  if (byName) diffPairLabels(state, rounds[0], true);
  for (let r = DIFF_ROUNDS; r >= 1; r--) diffPairLabels(state, rounds[r]);
  diffPairLabels(state, rounds[0], true);
  diffSpread(state);
  for (let r = DIFF_ROUNDS; r >= 1; r--) { diffPairLabels(state, bare[r]); diffSpread(state); }
  diffPairLabels(state, bare[0], true);
  diffPairEnds(state);
  diffSpread(state);
  return {partner, sides};
}

/* Labels as numbers, of both sides, before and after each round. */
function diffRounds(sides, first) {
  const numbers = new Map(), number = text => { if (!numbers.has(text)) numbers.set(text, numbers.size); return numbers.get(text); };
  const rounds = [sides.map(s => first(s).map(number))];
  for (let r = 1; r <= DIFF_ROUNDS; r++) {
    const was = rounds[r - 1];
    rounds.push(sides.map((s, k) => s.model.nodes.map((n, i) => {
      const around = s.ins[i].map(l => "i" + l.place + ":" + was[k][l.from]).concat(s.outs[i].map(l => "o" + l.place + ":" + was[k][l.to]));
      return number(was[k][i] + "|" + around.sort().join(","));
    })));
  }
  return rounds;
}

function diffJoin(state, u, v) {
  state.partner[0][u] = v; state.partner[1][v] = u;
  state.queue.push([u, v]);
}

/* Free nodes of each label, in order, of both sides: [[...], [...]]. */
function diffGroups(state, labels) {
  const groups = new Map();
  state.sides.forEach((s, k) => {
    for (const n of s.nodes) {
      if (state.partner[k][n.index] >= 0) continue;
      const label = labels[k][n.index];
      if (!groups.has(label)) groups.set(label, [[], []]);
      groups.get(label)[k].push(n.index);
    }
  });
  return groups;
}

/* Pairs in order what both have equally often; else, and always if byPath, what is in modules of one name equally often. */
function diffPairLabels(state, labels, byPath) {
  for (const [us, vs] of diffGroups(state, labels).values()) {
    if (!us.length || !vs.length) continue;
    if (us.length === vs.length && !byPath) { us.forEach((u, i) => diffJoin(state, u, vs[i])); continue; }
    const paths = new Map();
    [us, vs].forEach((list, k) => {
      for (const i of list) {
        const path = diffPath(state.sides[k], state.sides[k].model.nodes[i]);
        if (!paths.has(path)) paths.set(path, [[], []]);
        paths.get(path)[k].push(i);
      }
    });
    for (const [path, [x, y]] of paths) if (path && x.length === y.length) x.forEach((u, i) => diffJoin(state, u, y[i]));
  }
}

/* What a graph takes and gives, in order. */
function diffPairEnds(state) {
  for (const role of ["input", "output"]) {
    const free = state.sides.map((s, k) => s.nodes.filter(n => n.role === role && state.partner[k][n.index] < 0));
    free[0].forEach((n, i) => { if (free[1][i]) diffJoin(state, n.index, free[1][i].index); });
  }
}

/* Along the lines of all pairs that are new. */
function diffSpread(state) {
  const {sides, partner, queue} = state;
  for (; state.at < queue.length; state.at++) {
    const [u, v] = queue[state.at];
    for (const [way, end] of [["outs", "to"], ["ins", "from"]]) {
      const free = new Map(), key = (k, l) => sides[k].base[l[end]] + " " + l.place;
      for (const l of sides[1][way][v]) if (partner[1][l[end]] < 0) { const name = key(1, l); if (!free.has(name)) free.set(name, []); free.get(name).push(l[end]); }
      for (const l of sides[0][way][u]) {
        const list = partner[0][l[end]] < 0 && free.get(key(0, l));
        if (!list) continue;
        const at = diffBest(sides, l[end], list.filter(x => partner[1][x] < 0));
        if (at !== undefined) diffJoin(state, l[end], at);
      }
    }
  }
}

/* Of several: with the same weights, in a module of the same name, or the first. */
function diffBest(sides, u, list) {
  const [a, b] = sides, path = diffPath(a, a.model.nodes[u]);
  const score = v => 2 * (a.weights[u] === b.weights[v]) + (path === diffPath(b, b.model.nodes[v]));
  return list.reduce((best, v) => best === undefined || score(v) > score(best) ? v : best, undefined);
}

/* ---- what differs ---------------------------------------------------------------------------- */

/* The text of a constant, or of a list of constants; undefined for others. */
function diffText(model, v) {
  const text = model.values[v].text, maker = model.maker[v];
  if (text !== undefined || maker < 0 || !/^prim::(?:List|Tuple)Construct$/.test(model.nodes[maker].kind)) return text;
  const items = model.nodes[maker].in.map(x => model.values[x].text);
  return items.includes(undefined) ? undefined : "[" + items.join(", ") + "]";
}

/* Arguments that are constants, by name: of overloads without names by number. */
function diffConstants(model, n) {
  const args = n.op === undefined ? [] : model.ops[n.op].args, list = new Map();
  n.in.forEach((v, i) => { const text = diffText(model, v); if (text !== undefined) list.set(args[i] === undefined ? String(i) : args[i], text); });
  return list;
}

/* 1 and [1, 1] are one stride; None and a missing argument are one. */
function diffSame(x, y) {
  const plain = t => { const m = /^\[(.+)\]$/.exec(t); return m && new Set(m[1].split(", ")).size === 1 ? m[1].split(", ")[0] : t; };
  return x === y || plain(x) === plain(y);
}

function diffReasons(a, b, u, v, weights) {
  const reasons = [], x = diffConstants(a, u), y = diffConstants(b, v);
  if (u.kind !== v.kind) reasons.push(u.kind + " \u2192 " + v.kind);
  for (const [name, text] of x) if (y.has(name) && !DIFF_WAYS.test(name) && !diffSame(text, y.get(name))) reasons.push(name + ": " + text + " \u2192 " + y.get(name));
  const p = new Map(diffParameters(a, u)), q = new Map(diffParameters(b, v));
  for (const [i, w] of p) {
    const other = q.get(i), row = other && weights.get(other.parameter);
    if (!other) continue;
    if (w.type !== other.type) reasons.push(other.parameter + ": " + w.type + " \u2192 " + other.type);
    else if (row && row.state === "changed" && w.parameter === other.parameter) reasons.push(other.parameter + ": " + diffMost(row));
    else if (w.parameter !== other.parameter && !(row && row.state === "renamed" && row.from === w.parameter)) reasons.push("takes " + other.parameter + " in place of " + w.parameter);
  }
  return reasons;
}

function diffMost(row) { return row.most === undefined ? "other values" : "values differ by up to " + Number(row.most.toPrecision(3)); }

/* Where a node gets something from another node than its partner does, which is not new or gone itself. */
function diffRewired(sides, partner, u, v) {
  const from = sides[0].ins[u].map(l => partner[0][l.from]), to = sides[1].ins[v].map(l => l.from);
  const lost = from.filter(i => i >= 0 && !to.includes(i)).length, fresh = to.filter(i => partner[1][i] < 0).length;
  const gained = to.filter(i => partner[1][i] >= 0 && !from.includes(i)).length, gone = from.filter(i => i < 0).length;
  return lost > fresh || gained > gone;
}

function graphDifferences(a, b, weights) {
  const two = [true, false].map(byName => diffAfter(a, b, weights, byName));
  return two[1].cost < two[0].cost ? two[1] : two[0];
}

function diffAfter(a, b, weights, byName) {
  const {partner, sides} = matchGraphs(a, b, byName), states = [a.nodes.map(() => ""), b.nodes.map(() => "")], list = [];
  const rows = new Map((weights || []).map(w => [w.name, w]));
  for (const n of sides[0].nodes) {
    const v = partner[0][n.index];
    if (v < 0) { states[0][n.index] = "removed"; list.push({state: "removed", a: n, b: null, reasons: [], order: n.index}); continue; }
    const reasons = diffReasons(a, b, n, b.nodes[v], rows);
    if (diffRewired(sides, partner, n.index, v)) reasons.push("takes the results of other nodes");
    if (!reasons.length) continue;
    states[0][n.index] = states[1][v] = "changed";
    list.push({state: "changed", a: n, b: b.nodes[v], reasons, order: n.index});
  }
  /* what is new comes after the pair before it */
  let last = -1;
  for (const n of sides[1].nodes) {
    if (partner[1][n.index] >= 0) { last = partner[1][n.index]; continue; }
    states[1][n.index] = "added";
    list.push({state: "added", a: null, b: n, reasons: [], order: last + .5});
  }
  list.sort((x, y) => x.order - y.order);
  return {partner, states, list, cost: list.reduce((sum, d) => sum + (d.state === "changed" ? 1 : 2), 0)};
}

if (typeof module === "object") module.exports = {matchGraphs, graphDifferences};
