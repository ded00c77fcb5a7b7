/* SPDX-License-Identifier: Apache-2.0 */
/* model.js - which parts of a graph are shown: from the JSON of `ctsc view` (src/ir/graph/graph_json.h says what is in it) to the items and edges that
 * layout.js places.
 *
 * Hidden nodes: constants give nothing; carriers (lists, tuples) hand on what they got, part by part where it is known which; numbers (sizes,
 * conditions) count only for nodes that nothing else leads to; branches in torch's own layers that only bring tensors into shape ("batched or not?")
 * hand on what they got as well. A box with a single node in it is that node, with the box's name; a box with a single
 * box in it is one with it. Knows of no document: tests/view runs it with node. */
"use strict";

const NUMBERS = /^(?!.*\[\]$)(?:List|Optional|Tuple|Union|int|float|bool|str|NoneType|None|number|Scalar|Device|complex|QScheme|[\[\], ])+$/;
const WEAK = 4; /* values that a number is traced back to */
/* What only speaks up when something is wrong. */
const COMPLAINTS = /^(?:aten::warn|prim::RaiseException|ctsc::check_input|aten::_assert_\w+|aten::sym_constrain_\w+)$/;

const OWN_LAYERS = "__torch__.torch.nn.modules.";
const SHAPING = new Set(["shape and views", "creation and random"]); /* families of operators */

class GraphModel {
  constructor(json) {
    Object.assign(this, json);
    this.maker = new Int32Array(this.values.length).fill(-1);
    this.nodes.forEach((n, i) => { n.index = i; for (const v of n.out) this.maker[v] = i; });
    this.users = this.values.map(() => []);
    for (const n of this.nodes) for (const v of new Set(n.in)) this.users[v].push(n.index);
    this.boxes.forEach((b, i) => { b.index = i; b.depth = i ? this.boxes[b.parent].depth + 1 : 0; b.boxes = []; if (i) this.boxes[b.parent].boxes.push(b); });
    this.groupSize = this.groups.map(() => 0);
    for (const n of this.nodes) if (n.group !== undefined && !n.hide) this.groupSize[n.group]++;
    this.counted = this.flops !== undefined; /* operations */
    this.timed = this.nodes.some(n => n.us !== undefined) || this.groups.some(g => g.us !== undefined);
    this.show(false);
  }

  /* ---- what is hidden ---- */

  /* plumbing: everything is seen. */
  show(plumbing) {
    this.plumbing = plumbing;
    this.seen = this.nodes.map(n => plumbing || !(n.hide || COMPLAINTS.test(n.kind) || this.isCounting(n) || (n.role === "input" && this.isModule(n.out[0]))));
    this.shaping = new Uint8Array(this.nodes.length);
    if (!plumbing) { this.hideChecks(); this.hideShaping(); }
    this.resolve();
    if (!plumbing) this.hideIdle();
    this.count();
  }

  isModule(v) { return this.values[v].type.startsWith("__torch__"); }

  /* It changes what the module has, and nothing else: batch norms count their calls in training. */
  isCounting(n) {
    if (n.role || !n.in.length || this.boxes[n.box].kind === "node" || n.out.some(v => this.users[v].length)) return false;
    return n.in.every(v => this.maker[v] >= 0 && (this.nodes[this.maker[v]].hide === "constant" || this.nodes[this.maker[v]].hide === "number"));
  }

  /* Blocks in which nothing but numbers is made, or an exception raised. */
  hideChecks() {
    const idle = this.boxes.map(() => true), nodes = this.boxes.map(() => []);
    for (const n of this.nodes) nodes[n.box].push(n);
    for (let i = this.boxes.length - 1; i > 0; i--) {
      const b = this.boxes[i];
      idle[i] = idle[i] && nodes[i].every(n => !this.seen[n.index] || n.role === "begin" || n.role === "end" ||
                                              (b.kind === "node" && (n.role !== "join" || n.out.every(v => NUMBERS.test(this.values[v].type)))));
      if (!idle[i]) idle[b.parent] = false;
    }
    this.idle = idle;
    for (let i = 1; i < this.boxes.length; i++) {
      if (idle[i] && (this.boxes[i].kind === "node" || this.idleAbove(i))) for (const n of nodes[i]) this.seen[n.index] = false;
    }
  }

  idleAbove(i) {
    for (let b = this.boxes[i]; b.index; b = this.boxes[b.parent]) if (b.kind === "node") return this.idle[b.index];
    return false;
  }

  /* Branches in torch's own layers in which nothing is computed: an LSTM adds a dimension to its input and takes it away again, and makes states. */
  hideShaping() {
    const plain = this.boxes.map(() => true), own = this.boxes.map(() => false);
    for (const n of this.nodes) {
      const shapes = !this.seen[n.index] || n.role || n.kind === "prim::If" || (n.op !== undefined && SHAPING.has(this.ops[n.op].family));
      if (!shapes) plain[n.box] = false;
    }
    for (let i = this.boxes.length - 1; i > 0; i--) {
      if (this.boxes[i].kind === "module" || (this.boxes[i].kind === "node" && this.boxes[i].name !== "prim::If")) plain[i] = false;
      if (!plain[i]) plain[this.boxes[i].parent] = false;
    }
    this.boxes.forEach((b, i) => { own[i] = b.kind === "module" ? (b.class || "").startsWith(OWN_LAYERS) : i > 0 && own[b.parent]; });
    const within = this.boxes.map(() => false);
    this.boxes.forEach((b, i) => { within[i] = i > 0 && (within[b.parent] || (b.kind === "node" && plain[i] && own[i])); });
    for (const n of this.nodes) if (within[n.box]) { this.seen[n.index] = false; this.shaping[n.index] = 1; }
  }

  /* Inputs that nothing seen uses, unless nothing would be left. */
  hideIdle() {
    for (const n of this.nodes)
      if (n.role === "input" && this.seen[n.index] && NUMBERS.test(this.values[n.out[0]].type) && !this.edges.some(e => e.from === n.index)) this.seen[n.index] = false;
  }

  /* ---- edges ---- */

  /* From each value to the values of seen nodes that it stands for. sources: by tensors and what carries them; weak: by numbers. */
  resolve() {
    const none = [], sources = this.values.map(() => none), weak = this.values.map(() => none), parts = new Map(), ends = new Map();
    const union = lists => {
      const some = lists.filter(l => l.length);
      return some.length < 2 ? some[0] || none : [...new Set(some.flat())];
    };
    this.edges = [];
    for (const n of this.nodes) {
      if (this.seen[n.index]) {
        for (const v of n.out) sources[v] = [v];
        let from = union(n.in.map(v => sources[v]));
        if (!from.length) from = union(n.in.map(v => weak[v]));
        for (const v of from) this.edges.push({from: this.maker[v], to: n.index, value: v});
      } else if (this.shaping[n.index] && n.role === "end") {
        const box = this.boxes[n.box].parent;
        if (!ends.has(box)) ends.set(box, []);
        ends.get(box).push(n.in);
      } else if (this.shaping[n.index] && n.role === "join") {
        n.out.forEach((v, i) => {
          const from = (ends.get(n.box) || []).map(values => values[i]);
          sources[v] = union(from.map(x => sources[x]));
          weak[v] = union(from.map(x => weak[x])).slice(0, WEAK);
        });
      } else if (n.hide === "carrier" || (this.shaping[n.index] && !n.hide)) {
        const all = union(n.in.map(v => sources[v])), thin = union(n.in.map(v => weak[v])).slice(0, WEAK);
        n.out.forEach((v, i) => {
          const part = this.partOf(n, i, parts);
          sources[v] = part === undefined ? all : sources[part];
          weak[v] = part === undefined ? thin : weak[part];
        });
        if (/Construct$/.test(n.kind)) parts.set(n.out[0], n.in);
      } else if (n.hide === "number" || !n.hide) {
        const thin = union([...n.in.map(v => sources[v]), ...n.in.map(v => weak[v])]).slice(0, WEAK);
        for (const v of n.out) weak[v] = thin;
      }
    }
    for (const [a, b] of this.control) if (this.seen[a] && this.seen[b]) this.edges.push({from: a, to: b, value: -1});
    this.tie();
  }

  /* What is alone in a block belongs between its ends. */
  tie() {
    const tied = new Uint8Array(this.nodes.length), begin = new Map(), end = new Map();
    for (const e of this.edges) { tied[e.from] = 1; tied[e.to] = 1; }
    for (const n of this.nodes) if (n.role === "begin" || n.role === "end") (n.role === "begin" ? begin : end).set(n.box, n.index);
    for (const n of this.nodes) {
      if (!this.seen[n.index] || tied[n.index] || n.role || !begin.has(n.box)) continue;
      this.edges.push({from: begin.get(n.box), to: n.index, value: -1}, {from: n.index, to: end.get(n.box), value: -1});
    }
  }

  /* The value that result i of a carrier is, where that is known. */
  partOf(n, i, parts) {
    const of = parts.get(n.in[0]);
    if (n.kind === "prim::unchecked_cast") return n.in[0];
    if (!of) return undefined;
    if (/Unpack$/.test(n.kind)) return of[i];
    if (n.kind === "prim::TupleIndex") return of.at(parseInt(this.values[n.in[1]].text, 10));
    return undefined;
  }

  /* ---- boxes ---- */

  /* How many seen nodes are in each box and below, and what they take. */
  count() {
    for (const b of this.boxes) { b.seen = 0; b.us = 0; b.flops = 0; b.uncounted = false; b.leaves = []; b.first = Infinity; }
    this.settle();
    for (const n of this.nodes) if (this.seen[n.index]) this.boxes[this.home[n.index]].leaves.push(n);
    for (const n of this.nodes) {
      const b = this.boxes[n.box];
      b.us += this.share(n);
      b.flops += n.flops || 0;
      b.uncounted = b.uncounted || n.flops === null;
    }
    for (let i = this.boxes.length - 1; i >= 0; i--) {
      const b = this.boxes[i];
      b.seen += b.leaves.length;
      if (b.leaves.length) b.first = Math.min(b.first, b.leaves[0].index);
      if (i) { const p = this.boxes[b.parent]; p.seen += b.seen; p.us += b.us; p.flops += b.flops; p.uncounted = p.uncounted || b.uncounted; p.first = Math.min(p.first, b.first); }
    }
  }

  /* The box of each node: for constants, which stand at the top of graphs, the innermost around all that use it. */
  settle() {
    this.home = this.nodes.map(n => n.box);
    for (let i = this.nodes.length - 1; i >= 0; i--) {
      const n = this.nodes[i];
      if (n.hide !== "constant" || !this.seen[i]) continue;
      let common = -1;
      for (const v of n.out) for (const u of this.users[v]) common = common < 0 ? this.home[u] : this.common(common, this.home[u]);
      if (common >= 0) this.home[i] = common;
    }
  }

  common(a, b) {
    while (a !== b) {
      if (this.boxes[a].depth >= this.boxes[b].depth) a = this.boxes[a].parent; else b = this.boxes[b].parent;
    }
    return a;
  }

  /* What a node takes; of a kernel, the part that its operators have if all take the same. */
  share(n) {
    const g = n.group === undefined ? undefined : this.groups[n.group];
    if (g && g.us !== undefined) return n.hide ? 0 : g.us / Math.max(1, this.groupSize[n.group]);
    return n.us || 0;
  }

  filled(box) { return box.boxes.filter(b => b.seen); }

  /* The box that is drawn for this one: a box with one box in it and nothing else is drawn as that. names: of those on the way. */
  inner(box) {
    const names = [box];
    while (box.index && !box.leaves.length && this.filled(box).length === 1 && this.filled(box)[0].seen > 1 && box.kind === "module" && this.filled(box)[0].kind === "module") {
      box = this.filled(box)[0];
      names.push(box);
    }
    return {box, names};
  }

  only(box) { /* the one node in it */
    while (!box.leaves.length) box = this.filled(box)[0];
    return box.leaves[0];
  }

  pathOf(box) {
    const names = [];
    for (let b = box; b && b.index; b = this.boxes[b.parent]) names.unshift(b.name || (b.class || "").split(".").pop());
    return names.join(".");
  }

  /* Boxes that open at the start: level by level, as long as no more than `most` items are to be seen. Branches and loops of all but small graphs
   * stay closed. */
  opening(most) {
    const open = new Set([0]);
    const small = this.boxes[0].seen <= most / 2;
    let front = this.filled(this.boxes[0]), items = this.boxes[0].leaves.length + front.length;
    while (front.length) {
      let next = [], more = items;
      const opened = front.map(b => this.inner(b)).filter(({box}) => box.seen > 1 && (small || (box.kind !== "node" && box.kind !== "block")));
      for (const {box} of opened) {
        const inside = this.filled(box);
        more += box.leaves.length + inside.length - 1;
        next = next.concat(inside);
      }
      if (more > most) break;
      for (const {names} of opened) for (const b of names) open.add(b.index);
      items = more;
      front = next;
    }
    return open;
  }

  /* ---- items for layout.js ---- */

  /* The items to be seen if the boxes of `open` are open, as a tree; this.itemOf: node -> its leaf. size(item): gives a leaf w and h, a container
   * header and minWidth. */
  items(open, size) {
    this.itemOf = new Array(this.nodes.length).fill(null);
    const root = this.itemOfBox(this.boxes[0], open, size), edges = [], seen = new Set();
    for (const e of this.edges) {
      const from = this.itemOf[e.from], to = this.itemOf[e.to];
      if (!from || !to || from === to) continue;
      const key = e.value < 0 ? "c" + e.from : String(e.value), id = key + "," + from.serial + "," + to.serial;
      if (seen.has(id)) continue;
      seen.add(id);
      edges.push({from, to, key, value: e.value});
    }
    return {root, edges};
  }

  itemOfBox(outer, open, size) {
    const {box, names} = this.inner(outer), item = {kind: "box", box, names, serial: "b" + box.index, order: box.first};
    if (open.has(box.index)) {
      item.children = [];
      for (const b of this.filled(box)) item.children.push(b.seen === 1 ? this.leaf(this.only(b), b, size) : this.itemOfBox(b, open, size));
      for (const n of box.leaves) item.children.push(this.leaf(n, box, size));
    } else {
      this.claim(box, item);
    }
    size(item);
    return item;
  }

  leaf(node, within, size) {
    const item = {kind: "node", node, serial: "n" + node.index, order: node.index, within};
    item.folded = within.seen === 1 ? within : null;
    this.itemOf[node.index] = item;
    size(item);
    return item;
  }

  claim(box, item) {
    const stack = [box];
    while (stack.length) {
      const b = stack.pop();
      for (const n of b.leaves) this.itemOf[n.index] = item;
      stack.push(...b.boxes);
    }
  }

  /* Boxes to be opened so that a node is seen. */
  above(node) {
    const list = [];
    for (let b = this.boxes[this.home[node.index]]; b; b = this.boxes[b.parent]) list.push(b.index);
    return list;
  }
}

/* Elements of the tensors that a graph shows of its module's, each counted once: where the page's data has no list of weights. */
function graphParameters(values) {
  const sizes = new Map();
  for (const v of values) {
    const shape = v && v.parameter && /^\w+\[([\d,]*)\]$/.exec(v.type || "");
    if (shape) sizes.set(v.parameter, shape[1] ? shape[1].split(",").reduce((a, b) => a * b, 1) : 1);
  }
  return [...sizes.values()].reduce((a, b) => a + b, 0);
}

if (typeof module === "object") module.exports = {GraphModel, graphParameters};
