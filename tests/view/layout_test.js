/* SPDX-License-Identifier: Apache-2.0 */
/* layout_test.js - src/view/layout.js and model.js without a browser: random graphs with boxes in boxes, circles, long edges; and the JSON of `ctsc view
 * --json` from files.
 *
 *     node tests/view/layout_test.js [FILE.json ...] */
"use strict";
const assert = require("assert"), fs = require("fs"), path = require("path");
const view = path.join(__dirname, "..", "..", "src", "view");
const {layoutGraph} = require(path.join(view, "layout.js")), {GraphModel} = require(path.join(view, "model.js"));

let seed = 1;
function random(n) { /* xorshift, so that a failure comes again */
  seed ^= seed << 13; seed ^= seed >>> 17; seed ^= seed << 5;
  return (seed >>> 0) % n;
}

const overlap = (a, b) => a.x < b.x + b.w - .01 && b.x < a.x + a.w - .01 && a.y < b.y + b.h - .01 && b.y < a.y + a.h - .01;
const onBorder = (i, x, y, below) => x >= i.x - .01 && x <= i.x + i.w + .01 && Math.abs(y - (below ? i.y + i.h : i.y)) < .01;

/* A layout across, as if it went down: but for the heads of boxes, which are at their tops. */
function turn(root, edges) {
  const walk = i => { [i.x, i.y, i.w, i.h] = [i.y, i.x, i.h, i.w]; i.side = i.header; i.header = 0; for (const c of i.children || []) { assert(!i.side || c.y >= i.x + i.side - .01, "a child is on its box's head"); walk(c); } };
  walk(root);
  for (const e of edges) e.points = e.points.map((_, i) => e.points[i ^ 1]);
}

/* Children lie in their boxes and do not overlap; edges begin and end at their leaves. turned: edges may go upwards. */
function check(root, edges, turned) {
  const walk = box => {
    const sorted = box.children.slice().sort((a, b) => a.y - b.y);
    sorted.forEach((a, i) => {
      for (const k of ["x", "y", "w", "h"]) assert(Number.isFinite(a[k]), k + " is not a number");
      assert(a.x >= box.x - .01 && a.y >= box.y - .01 && a.x + a.w <= box.x + box.w + .01 && a.y + a.h <= box.y + box.h + .01, "a child is outside of its box");
      if (box.header) assert(a.y >= box.y + box.header - .01, "a child is on its box's head");
      for (let k = i + 1; k < sorted.length && sorted[k].y < a.y + a.h; k++) assert(!overlap(a, sorted[k]), "two boxes overlap");
    });
    for (const c of box.children) if (c.children) walk(c);
  };
  walk(root);
  for (const e of edges) {
    const p = e.points, n = p.length;
    assert(n >= 4 && p.every(Number.isFinite), "an edge has no line");
    assert(onBorder(e.from, p[0], p[1], true) || (turned && onBorder(e.from, p[0], p[1], false)), "an edge does not begin at its leaf");
    assert(onBorder(e.to, p[n - 2], p[n - 1], false) || (turned && onBorder(e.to, p[n - 2], p[n - 1], true)), "an edge does not end at its leaf");
    if (!turned) for (let i = 3; i < n; i += 2) assert(p[i] >= p[i - 2] - .01, "an edge goes up");
  }
}

function randomTree(leaves, depth, most) {
  const box = {children: [], order: leaves.length, header: 30, minWidth: random(200)};
  const n = 1 + random(most);
  for (let i = 0; i < n; i++) {
    if (depth && random(4) === 0) { box.children.push(randomTree(leaves, depth - 1, most)); continue; }
    const leaf = {w: 20 + random(200), h: 20 + random(40), order: leaves.length};
    leaves.push(leaf);
    box.children.push(leaf);
  }
  return box;
}

function randomGraph(depth, most, density, forward) {
  const leaves = [], root = randomTree(leaves, depth, most), edges = [], seen = new Set();
  for (let i = 0; i < leaves.length * density && leaves.length > 1; i++) {
    let a = random(leaves.length), b = random(leaves.length);
    if (forward && a > b) [a, b] = [b, a];
    if (a === b || seen.has(a + "," + b)) continue;
    seen.add(a + "," + b);
    edges.push({from: leaves[a], to: leaves[b], key: random(3) ? "v" + a : "v" + a + "." + random(3)});
  }
  return {root, edges};
}

let graphs = 0;
function run(depth, most, density, forward) {
  const {root, edges} = randomGraph(depth, most, density, forward);
  const across = graphs % 2 === 1, sizes = [];
  const walk = i => { if (i.children) i.children.forEach(walk); else sizes.push([i, i.w, i.h]); };
  walk(root);
  layoutGraph(root, edges, {across});
  for (const [i, w, h] of sizes) assert(i.w === w && i.h === h, "an item changed its size");
  if (across) turn(root, edges);
  check(root, edges, !forward || depth > 0); /* boxes that take turns make circles of boxes */
  graphs++;
}
for (let i = 0; i < 400; i++) run(i % 4, 1 + i % 12, 1 + i % 4, i % 3 > 0);
run(0, 1500, 1, true);
run(3, 40, 2, true);

/* A chain is a straight line, each below the one before. */
{
  const items = Array.from({length: 50}, (_, order) => ({w: 50 + 10 * (order % 7), h: 30, order})), edges = items.slice(1).map((to, i) => ({from: items[i], to, key: "k" + i}));
  const root = {children: items, order: 0};
  layoutGraph(root, edges);
  check(root, edges, false);
  for (const e of edges) assert(e.points.every((p, i) => i % 2 || Math.abs(p - edges[0].points[0]) < .01), "a chain is not straight");
}

/* What no layout can avoid aside, a tree has no crossings. */
{
  const items = Array.from({length: 127}, (_, order) => ({w: 40, h: 20, order})), edges = [];
  for (let i = 1; i < items.length; i++) edges.push({from: items[(i - 1) >> 1], to: items[i], key: "k" + i});
  const root = {children: items, order: 0};
  layoutGraph(root, edges);
  check(root, edges, false);
  assert.strictEqual(root.crossings, 0, "a tree crosses itself");
}

/* Nothing at all, and items without edges. */
for (const n of [0, 1, 5]) {
  const root = {children: Array.from({length: n}, (_, order) => ({w: 40, h: 20, order})), order: 0};
  layoutGraph(root, []);
  check(root, [], false);
}

const size = item => { item.w = 120; item.h = 44; if (item.children) { item.header = 30; item.minWidth = 100; } };
for (const file of process.argv.slice(2)) {
  for (const g of JSON.parse(fs.readFileSync(file, "utf8")).graphs) {
    const m = new GraphModel(g);
    for (const plumbing of [false, true]) {
      m.show(plumbing);
      for (const open of [new Set([0]), m.opening(64), new Set(m.boxes.map(b => b.index))]) {
        const {root, edges} = m.items(open, size);
        layoutGraph(root, edges);
        check(root, edges, true);
        for (const n of m.nodes) assert.strictEqual(Boolean(m.itemOf[n.index]), m.seen[n.index], "a node is lost, or hidden and drawn");
        if (plumbing) { /* nothing is left out: an edge for each use of a value by another item */
          const have = new Set(edges.map(e => e.key + "," + e.from.serial + "," + e.to.serial));
          for (const n of m.nodes) for (const v of n.in) {
            const from = m.itemOf[m.maker[v]], to = m.itemOf[n.index];
            assert(from === to || have.has(v + "," + from.serial + "," + to.serial), "an edge is missing");
          }
        }
        graphs++;
      }
    }
  }
}
console.log(graphs + " graphs laid out");
