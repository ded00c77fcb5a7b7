/* SPDX-License-Identifier: Apache-2.0 */
/* diff_test.js - src/view/diff.js without a browser: random graphs against edited copies of themselves.
 *
 *     node tests/view/diff_test.js [FILE.json]     what `ctsc view A B --json` prints */
"use strict";
const assert = require("assert"), fs = require("fs"), path = require("path");
const view = path.join(__dirname, "..", "..", "src", "view");
const {GraphModel} = require(path.join(view, "model.js")), {matchGraphs, graphDifferences} = require(path.join(view, "diff.js"));

let seed = 7;
function random(n) { /* xorshift, so that a failure comes again */
  seed ^= seed << 13; seed ^= seed >>> 17; seed ^= seed << 5;
  return (seed >>> 0) % n;
}

/* Nodes as {kind, from: [indices of earlier nodes], module}: a chain with shortcuts. */
function randomNet(n, modules) {
  const kinds = ["relu", "add", "mul", "conv", "norm", "pool", "cat"];
  return Array.from({length: n}, (_, i) => {
    const kind = kinds[random(kinds.length)], from = i ? [i - 1] : [];
    if ((kind === "add" || kind === "mul" || kind === "cat") && i > 1) from.push(Math.max(0, i - 2 - random(12)));
    return {kind, from, module: modules ? "m" + Math.floor(i / 5) : ""};
  });
}

function model(net) {
  const boxes = [{parent: -1, kind: "module", name: "", class: "Net"}], byName = new Map([["", 0]]), values = [{name: "x", type: "float32[4]"}], nodes = [];
  nodes.push({kind: "input", role: "input", box: 0, in: [], out: [0]});
  for (const n of net) {
    if (!byName.has(n.module)) { byName.set(n.module, boxes.length); boxes.push({parent: 0, kind: "module", name: n.module, class: "Block"}); }
    const inputs = n.from.map(i => net[i].value);
    n.value = values.length;
    values.push({name: "v" + n.value, type: "float32[4]"});
    nodes.push({kind: "aten::" + n.kind, op: 0, box: byName.get(n.module), in: inputs.length ? inputs : [0], out: [n.value]});
  }
  nodes.push({kind: "output", role: "output", box: 0, in: [net[net.length - 1].value], out: []});
  return new GraphModel({ops: [{key: "", schema: "", family: "pointwise", args: []}], lines: [], boxes, values, nodes, groups: [], control: []});
}

/* A copy with a node taken out, or another put in, at these places; the names of modules stay. */
function edited(net, removed, added) {
  const copy = [], place = [];
  net.forEach((n, i) => {
    if (removed.has(i) && copy.length) { place[i] = n.from.length ? place[n.from[0]] : copy.length - 1; return; }
    copy.push({kind: n.kind, from: n.from.map(k => place[k]), module: n.module});
    place[i] = copy.length - 1;
    if (added.has(i)) { copy.push({kind: "gelu", from: [copy.length - 1], module: n.module}); place[i] = copy.length - 1; }
  });
  return copy;
}

/* Pairs are mutual, and have one operator. */
function checkPairs(a, b, byName) {
  const {partner} = matchGraphs(a, b, byName);
  partner[0].forEach((v, u) => { if (v >= 0) assert(partner[1][v] === u && a.nodes[u].kind === b.nodes[v].kind && a.nodes[u].role === b.nodes[v].role, "a pair is none"); });
  partner[1].forEach((u, v) => { if (u >= 0) assert(partner[0][u] === v, "a pair is none"); });
}

const count = (list, state) => list.filter(d => d.state === state).length;
let graphs = 0;
for (let i = 0; i < 60; i++) {
  const modules = i % 2 === 1, net = randomNet(20 + random(300), modules), a = model(net), same = model(edited(net, new Set(), new Set()));
  assert.deepStrictEqual(graphDifferences(a, same, []).list, [], "a copy differs");
  const removed = new Set([5 + random(net.length - 10)]), added = new Set([3 + random(net.length - 6)]), b = model(edited(net, removed, added));
  for (const byName of [false, true]) checkPairs(a, b, byName);
  const {list, states} = graphDifferences(a, b, []);
  assert(count(list, "added") <= 4 && count(list, "removed") <= 4 && list.length <= 12, "one node more and one less: " + list.map(d => d.state + " " + (d.a || d.b).kind).join(", "));
  assert(list.some(d => d.state === "added" && d.b.kind === "aten::gelu"), "the node that is new is not found");
  for (const d of list) assert((!d.a || states[0][d.a.index] === d.state) && (!d.b || states[1][d.b.index] === d.state));
  graphs++;
}

/* Alike blocks: one more at the end is told by its name, one at the beginning by what is around it. */
{
  const block = (m, from) => ["conv", "norm", "relu"].map((kind, k) => ({kind, from: [from + k], module: m})), blocks = names => {
    const net = [{kind: "pool", from: [], module: ""}];
    for (const m of names) net.push(...block(m, net.length - 1));
    net.push({kind: "cat", from: [net.length - 1], module: ""});
    return net;
  };
  const six = ["0", "1", "2", "3", "4", "5"], {list} = graphDifferences(model(blocks(six)), model(blocks([...six, "6"])), []);
  assert.deepStrictEqual(list.map(d => d.state), ["added", "added", "added"]);
  assert(list.every(d => d.b.box === 7), "not the last block");
}

/* Arguments, in place or not, and ways of computing. */
{
  const net = randomNet(30, true), change = (index, name, text) => { const m = model(net), n = m.nodes[index]; n.in.push(m.values.length); m.values.push({name: "c", type: "int", text}); m.ops[0].args = ["self", name, name]; return m; };
  const at = 4, reasons = (x, y) => graphDifferences(x, y, []).list.map(d => d.reasons);
  assert.deepStrictEqual(reasons(change(at, "stride", "1"), change(at, "stride", "2")), [["stride: 1 \u2192 2"]]);
  assert.deepStrictEqual(reasons(change(at, "stride", "1"), change(at, "stride", "[1, 1]")), []);
  assert.deepStrictEqual(reasons(change(at, "cudnn_enabled", "True"), change(at, "cudnn_enabled", "False")), []);
  const inPlace = model(net);
  inPlace.nodes[at].kind += "_";
  assert.deepStrictEqual(reasons(model(net), inPlace), [[net[at - 1].kind].map(k => "aten::" + k + " \u2192 aten::" + k + "_")]);
}

/* Many nodes. */
{
  const net = randomNet(6000, false), removed = new Set(), added = new Set();
  for (let i = 0; i < 20; i++) { removed.add(random(net.length)); added.add(random(net.length)); }
  const a = model(net), b = model(edited(net, removed, added)), begun = Date.now(), {list} = graphDifferences(a, b, []);
  console.log(graphs + " graphs compared; 6,000 nodes with 40 edits: " + list.length + " differences in " + (Date.now() - begun) + " ms");
  assert(list.length < 200, "40 edits make " + list.length + " differences");
}

for (const file of process.argv.slice(2)) {
  const data = JSON.parse(fs.readFileSync(file, "utf8")), models = data.models.map(m => new GraphModel(m.graphs.find(g => g.name === "as written")));
  for (const byName of [false, true]) checkPairs(models[0], models[1], byName);
  const {list} = graphDifferences(models[0], models[1], data.weights);
  console.log(path.basename(file) + ": " + ["added", "removed", "changed"].map(s => count(list, s) + " " + s).join(", ") + "; " + data.weights.length + " weights");
}
