/* SPDX-License-Identifier: Apache-2.0 */
/* view.js - graphs on the screen: what model.js finds and layout.js places, drawn as SVG, with a bar, a panel for what is chosen, and a map.
 *
 *     const view = new GraphView(element, data); view.load(other data)
 *     new GraphView(element, null, {compact: true, onselect: thing => ...})     one of two that compare.js shows side by side
 *
 * data: {title, method, class, weights: [{name, type, parameter}], graphs: [{name, us, flops, ...graph_json.h}]}; weights may be missing. Names of models are hostile: they become text, never markup.
 *
 * Only what is within the window is in the document, and far away boxes and lines are two paths: large networks cost what is seen of them. */
"use strict";

const SVG = "http://www.w3.org/2000/svg";
/* How operators are drawn, by their family (src/ir/op/op_family.def); of others by the node's kind. What neither has is arithmetic. */
const FAMILIES = {
  "convolution": "conv", "products and distances": "conv", "linear algebra": "conv", "recurrent": "conv", "attention": "conv", "embeddings": "conv", "quantised": "conv",
  "normalisation and softmax": "norm", "activations": "act",
  "pooling": "pool", "reductions": "pool", "sorting and counting": "pool", "upsampling and sampling": "pool",
  "shape and views": "shape", "indexing": "shape", "padding": "shape", "creation and random": "shape",
};
const FLOW = new Set(["If", "Loop", "RaiseException", "fork", "CallMethod", "CallFunction", "With", "Enter", "Exit", "Print"].map(k => "prim::" + k).concat("aten::wait"));
const CARRIERS = new Set(["ListConstruct", "TupleConstruct", "DictConstruct", "ListUnpack", "TupleUnpack"].map(k => "prim::" + k));
const TENSOR = /^([a-z]+\d+(?:_\w+)?|bool|Tensor)\[([\w,*]*)\]$/;
/* Dtypes whose lines have a colour. */
const NARROW = [["half", /^b?float16$/], ["eighth", /^float8_/], ["quant", /^(?:qu?int\d+|u?int8)$/]];
const MOST_ITEMS = 64, MOST_DRAWN = 1800, NAME = 34;

function graphElement(parent, name, attributes, text) {
  const e = parent.namespaceURI === SVG || name === "svg" ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const k in attributes || {}) e.setAttribute(k, attributes[k]);
  if (text !== undefined) e.textContent = text;
  return parent.appendChild(e);
}
const graphShort = (s, n = NAME) => s.length <= n ? s : s.slice(0, Math.ceil(n / 2)) + "\u2026" + s.slice(s.length - Math.floor(n / 2) + 1);
const graphTime = us => us < .05 ? "" : us >= 1e6 ? (us / 1e6).toFixed(2) + " s" : us >= 1000 ? (us / 1000).toFixed(us < 1e4 ? 2 : 1) + " ms" : us.toFixed(us < 10 ? 1 : 0) + " \u00b5s";
const graphFlops = n => { let i = 0; while (n >= 999.5 && i < 5) { n /= 1000; i++; } return (i ? n.toPrecision(3) : String(n)) + " " + ["", "k", "M", "G", "T", "P"][i] + "FLOP"; };
const graphPlural = (n, word) => n + " " + word + (n === 1 ? "" : "s");

class GraphView {
  constructor(element, data, options = {}) {
    this.root = element;
    this.options = options;
    this.marks = null; /* what differs from another graph: {states, reasons, counts, open} */
    element.classList.add("gv", "gv-colour-kind");
    this.measure = document.createElement("canvas").getContext("2d");
    this.widths = new Map();
    this.colour = "kind";
    this.build();
    this.listen();
    if (data) this.load(data);
  }

  /* ---- the frame ---- */

  build() {
    this.svg = graphElement(this.root, "svg", {class: "gv-main", tabindex: "0", role: "application", "aria-label": "graph"});
    const defs = graphElement(this.svg, "defs");
    for (const name of ["", "on", ...NARROW.map(n => n[0])]) {
      const m = graphElement(defs, "marker", {id: "gv-tip" + (name && "-" + name), class: name && "gv-" + name, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto"});
      graphElement(m, "path", {d: "M0 0.8 L8 4 L0 7.2 z"});
    }
    this.world = graphElement(this.svg, "g");
    this.far = graphElement(this.world, "g");
    this.farBoxes = graphElement(this.far, "path", {class: "gv-far-box"});
    this.farWires = graphElement(this.far, "path", {class: "gv-far-wire"});
    this.layers = {box: graphElement(this.world, "g"), wire: graphElement(this.world, "g"), head: graphElement(this.world, "g"), label: graphElement(this.world, "g"), card: graphElement(this.world, "g")};
    this.bar = graphElement(this.root, "div", {class: "gv-bar"});
    this.side = graphElement(this.root, "aside", {class: "gv-side", hidden: ""});
    this.map = graphElement(this.root, "canvas", {class: "gv-map"});
    this.key = graphElement(this.root, "div", {class: "gv-key"});
  }

  button(set, text, title, action) {
    const b = graphElement(set, "button", {type: "button", title}, text);
    b.onclick = action;
    return b;
  }

  buildBar() {
    this.bar.textContent = "";
    const title = graphElement(this.bar, "div", {class: "gv-title"}, graphShort(this.data.title || "", 48));
    graphElement(title, "small", {}, this.data.method || "");
    const compact = this.options.compact;
    this.graphButtons = this.choice(compact ? [] : this.data.graphs.length > 1 ? this.data.graphs.map((g, i) => [String(i), g.name, g.name === "as run" ? "the graph after optimisation" : "the graph before optimisation"]) : [], v => this.open(Number(v)));
    const colours = [["kind", "Kind", "colour by kind of operator"]];
    if (this.data.graphs.some(g => g.groups.length)) colours.push(["kernel", "Kernel", "colour by fusion group: operators of one kernel"]);
    if (this.data.graphs.some(g => g.us !== undefined)) colours.push(["time", "Time", "colour by time"]);
    if (this.data.graphs.some(g => g.flops)) colours.push(["work", "FLOPs", "colour by floating-point operations: a multiply-add counts as two"]);
    this.colourButtons = this.choice(colours.length > 1 && !compact ? colours : [], v => this.setColour(v));
    const set = graphElement(this.bar, "div", {class: "gv-set"});
    this.plumbButton = this.button(set, "Plumbing", "show constants, lists, tuples and arithmetic on sizes", () => this.setPlumbing(!this.model.plumbing));
    this.acrossButtons = this.choice(compact ? [] : [["", "\u2193", "layers from top to bottom (d)"], ["1", "\u2192", "layers from left to right (d)"]], v => this.setAcross(Boolean(v)));
    this.press(this.acrossButtons, this.across ? "1" : "");
    const boxes = graphElement(this.bar, "div", {class: "gv-set"});
    this.button(boxes, "Open all", "open all modules", () => { this.expanded = new Set(this.model.boxes.map(b => b.index)); this.relayout(); this.home(); });
    this.button(boxes, "Close all", "close all modules", () => { this.expanded = new Set([0]); this.relayout(); this.home(); });
    const tools = graphElement(this.bar, "div", {class: "gv-tools"});
    this.buildSearch(tools);
    const zoom = graphElement(tools, "div", {class: "gv-set"});
    if (compact) { this.button(zoom, "Fit", "all of it (f)", () => this.fit()); return; }
    this.button(zoom, "\u2212", "zoom out (-)", () => this.zoom(1 / 1.3));
    this.button(zoom, "+", "zoom in (+)", () => this.zoom(1.3));
    this.button(zoom, "Fit", "all of it (f)", () => this.fit());
    const save = graphElement(tools, "div", {class: "gv-set"});
    this.button(save, "SVG", "save the graph as it is opened now as a drawing", () => this.save(new Blob([this.picture().text], {type: "image/svg+xml"}), "svg"));
    this.button(save, "PNG", "save the graph as it is opened now as an image", () => this.savePng());
  }

  /* A row of buttons, one of them pressed: [value, text, title]. */
  choice(list, action) {
    const buttons = new Map();
    if (!list.length) return buttons;
    const set = graphElement(this.bar, "div", {class: "gv-set"});
    for (const [value, text, title] of list) buttons.set(value, this.button(set, text, title, () => action(value)));
    return buttons;
  }

  press(buttons, value) { for (const [v, b] of buttons) b.setAttribute("aria-pressed", v === value); }

  buildSearch(parent) {
    const box = graphElement(parent, "div", {class: "gv-search"});
    this.query = graphElement(box, "input", {type: "search", placeholder: "Search  ( / )", "aria-label": "search", spellcheck: "false"});
    this.hits = graphElement(box, "div", {class: "gv-hits"});
    this.query.oninput = () => this.search(this.query.value);
    this.query.onkeydown = e => {
      if (e.key === "Escape") { this.hits.textContent = ""; this.svg.focus(); }
      if (e.key === "Enter" || e.key === "ArrowDown") { this.goHit(this.hit + 1); e.preventDefault(); }
      if (e.key === "ArrowUp") { this.goHit(this.hit - 1); e.preventDefault(); }
      e.stopPropagation();
    };
  }

  /* ---- graphs ---- */

  load(data) {
    this.take(data);
    this.open(0);
  }

  take(data) {
    this.data = data;
    this.models = data.graphs.map(() => null);
    this.results = []; this.hit = -1; this.found = null;
    this.buildBar();
  }

  open(i) {
    this.current = i;
    this.press(this.graphButtons, String(i));
    this.model = this.models[i] || (this.models[i] = new GraphModel(this.data.graphs[i]));
    this.expanded = this.model.opening(MOST_ITEMS);
    if (this.marks) for (const b of this.marks.open) this.expanded.add(b);
    this.select(null);
    const colour = this.colour === "time" && !this.model.timed || this.colour === "kernel" && !this.model.groups.length || this.colour === "work" && !this.model.counted ? "kind" : this.colour;
    this.items = null;
    this.setColour(colour);
    this.plumbButton.setAttribute("aria-pressed", this.model.plumbing);
    this.relayout();
    this.home();
    this.searchAgain();
  }

  /* Cards tell of the figure that they are coloured by: times, or operations. */
  setColour(name) {
    const figure = name === "work" || (name !== "time" && !this.model.timed && this.model.counted) ? "flops" : "us", changed = figure !== this.figure;
    this.root.classList.remove("gv-colour-" + this.colour);
    this.root.classList.add("gv-colour-" + (this.colour = name));
    this.figure = figure;
    this.press(this.colourButtons, name);
    this.legend();
    if (changed && this.items) this.stay(() => this.relayout());
  }

  setAcross(across) {
    this.across = across;
    this.press(this.acrossButtons, across ? "1" : "");
    this.relayout();
    this.home();
  }

  legend() {
    const g = this.data.graphs[this.current], seen = this.model.boxes[0].seen;
    if (this.options.compact) {
      this.key.textContent = [seen + " shown", ...this.counts().slice(0, 1), ...(g.flops ? [this.flops(this.model.boxes[0])] : [])].join(" \u00b7 ");
      return;
    }
    const text = [graphPlural(this.model.nodes.filter(n => !n.role).length, "node") + (this.model.plumbing ? "" : ", " + seen + " shown"), graphPlural(this.model.boxes.filter(b => b.kind === "module").length - 1, "module")];
    if (g.groups.length) text.push(graphPlural(g.groups.length, "fusion group"));
    text.push(...this.counts());
    if (g.flops) text.push(this.flops(this.model.boxes[0]));
    if (g.us !== undefined) text.push(graphTime(g.us) + " per call");
    this.key.textContent = "";
    const names = this.narrow();
    if (names.length) {
      const list = graphElement(this.key, "div", {class: "gv-dtypes"});
      for (const [kind, dtype] of names) {
        const svg = graphElement(graphElement(list, "span", {}), "svg", {width: 26, height: 10, "aria-hidden": "true"});
        graphElement(svg, "path", {class: "gv-wire gv-" + kind, d: "M1 5H25"});
        svg.parentNode.append(" " + dtype);
      }
    }
    graphElement(this.key, "div", {}, text.map(t => t.replaceAll(" ", "\u00a0")).join("\u00a0\u00b7 ")); /* lines break between the figures */
  }

  /* How many parameters and buffers there are. */
  counts() {
    if (!this.data.weights) {
      const all = Math.max(...this.data.graphs.map(g => graphParameters(g.values))); /* optimised graphs have constants */
      return all ? [all.toLocaleString("en") + " elements of parameters and buffers"] : [];
    }
    const [parameters, buffers] = this.weightsOf("");
    return (parameters ? [parameters.toLocaleString("en") + " parameters"] : []).concat(buffers ? [buffers.toLocaleString("en") + " elements in buffers"] : []);
  }

  /* Elements of the parameters and of the buffers whose names begin with this. */
  weightsOf(prefix) {
    const sums = [0, 0];
    for (const w of this.data.weights || []) {
      const m = w.type.match(TENSOR);
      if (m && w.name.startsWith(prefix)) sums[w.parameter ? 0 : 1] += m[2] ? m[2].split(",").reduce((a, b) => a * b, 1) : 1;
    }
    return sums;
  }

  flops(box) { return (box.uncounted ? "at least " : "") + graphFlops(box.flops); }

  /* Pairs of kind and dtype of the narrow dtypes that lines have. */
  narrow() {
    const names = new Map();
    for (const e of this.model.edges) {
      const m = e.value < 0 ? null : this.model.values[e.value].type.match(TENSOR), kind = m && this.narrowKind(m[1]);
      if (kind) names.set(m[1], kind);
    }
    return [...names].map(([dtype, kind]) => [kind, dtype]).sort((a, b) => a[0].localeCompare(b[0]));
  }

  narrowKind(dtype) { const found = NARROW.find(n => n[1].test(dtype)); return found ? found[0] : ""; }

  setPlumbing(on) {
    this.stay(() => {
      this.model.show(on);
      this.plumbButton.setAttribute("aria-pressed", on);
      this.legend();
      this.relayout();
    });
  }

  /* What was in the middle of the window stays there. */
  stay(change) {
    const {w, h} = this.frame, cx = (w / 2 - this.x) / this.scale, cy = (h / 2 - this.y) / this.scale, old = this.model.itemOf;
    const far = i => Math.abs(i.x + i.w / 2 - cx) + Math.abs(i.y + i.h / 2 - cy), was = old && this.items.reduce((a, b) => far(b) < far(a) ? b : a, this.items[0]);
    change();
    const now = was && (was.kind === "node" ? this.model.itemOf[was.node.index] : this.items.find(i => i.box === was.box));
    if (now) { this.x += (was.x - now.x) * this.scale; this.y += (was.y - now.y) * this.scale; } else if (old) this.home();
  }

  /* ---- sizes and texts of items ---- */

  textWidth(text, font) {
    const key = font + text;
    let w = this.widths.get(key);
    if (w === undefined) {
      this.measure.font = font + " system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
      this.widths.set(key, w = this.measure.measureText(text).width);
    }
    return w;
  }

  opName(n) { return n.kind.replace(/^\w+::/, ""); }
  kindOf(n) {
    if (n.role === "input" || n.role === "output") return "io";
    if (n.role) return "mark";
    if (FLOW.has(n.kind)) return "flow";
    if (CARRIERS.has(n.kind)) return "shape";
    return n.op !== undefined && FAMILIES[this.model.ops[n.op].family] || "math";
  }
  className(box) { return (box.class || "").split(".").pop(); }
  boxName(item) { return item.names.filter(b => b.index).map(b => b.name || this.className(b)).join("."); }
  /* "1x3x224x224", with the dtype where it is not float32; as the file has it, if it says so. */
  shape(v) {
    const m = v < 0 ? null : (this.model.values[v].declared || this.model.values[v].type).match(TENSOR);
    if (!m) return "";
    const sizes = m[2].replace(/,/g, "\u00d7") || "scalar";
    return m[1] === "float32" ? sizes : m[1] + " " + sizes;
  }

  nodeTexts(item) {
    const n = item.node, m = this.model;
    if (n.role === "input") return [graphShort(m.values[n.out[0]].name), ""];
    if (n.role === "output") return ["output", ""];
    if (n.role === "begin") return [m.boxes[n.box].name, ""];
    if (n.role) return [n.role === "join" ? "end " + this.opName(n).toLowerCase() : n.role, ""];
    if (n.kind === "prim::Constant") return [graphShort(m.values[n.out[0]].text || "constant", 24), ""];
    const sub = [];
    if (item.folded && item.folded.index) sub.push(graphShort(item.folded.name || this.className(item.folded)));
    if (n.kind === "prim::GetAttr" && n.attributes) sub.push(graphShort(n.attributes.name || ""));
    const weight = n.in.find(v => this.isWeight(v) && /,/.test(m.values[v].type));
    if (weight !== undefined) sub.push(this.shape(weight));
    const layers = Number(this.argument(n, "num_layers"));
    if (layers > 1) sub.push(layers + " layers");
    if (this.argument(n, "bidirectional") === "True") sub.push("bidirectional");
    return [graphShort(this.opName(n)), sub.join("  \u00b7  ")];
  }

  /* The text of a constant argument. */
  argument(n, name) {
    const i = n.op === undefined ? -1 : this.model.ops[n.op].args.indexOf(name);
    return i < 0 || n.in[i] === undefined ? undefined : this.model.values[n.in[i]].text;
  }

  isWeight(v) {
    const maker = this.model.maker[v];
    return maker >= 0 && this.model.nodes[maker].hide === "constant" && TENSOR.test(this.model.values[v].type);
  }

  /* What an item takes, in the figure that is shown. */
  cost(item) {
    if (this.figure === "us") return this.us(item);
    if (!this.model.counted) return undefined;
    return (item.kind === "box" ? item.box : item.node).flops || undefined;
  }

  costText(cost) { return cost === undefined ? "" : this.figure === "us" ? graphTime(cost) : graphFlops(cost); }

  us(item) {
    if (item.kind === "box") return this.model.timed ? item.box.us : undefined;
    const n = item.node;
    if (n.group !== undefined && this.model.groups[n.group].us !== undefined) return this.model.groups[n.group].us;
    return n.us;
  }

  size(item) {
    const bold = "600 13px", plain = "11px";
    if (item.kind === "node") {
      const [name, sub] = this.nodeTexts(item), n = item.node, cost = this.cost(item), mark = this.kindOf(n) === "mark";
      Object.assign(item, {name, sub, type: this.kindOf(n), time: this.figure === "us" && n.index !== this.firstOf(n) ? "" : this.costText(cost), cost});
      const badge = n.group === undefined || n.hide ? 0 : this.badgeWidth(n) + 8;
      const wires = this.outputs(n).slice(0, 3).reduce((w, v) => w + this.textWidth(this.shape(v), plain) + 14, 0);
      item.w = Math.ceil(Math.max(mark ? 44 : 84, 30 + badge + this.textWidth(name, bold) + (item.time ? this.textWidth(item.time, plain) + 14 : 0), 26 + this.textWidth(sub, plain), wires > 120 ? wires : 0));
      item.h = mark ? 22 : sub ? 44 : 30;
      return;
    }
    item.name = graphShort(this.boxName(item));
    const b = item.box;
    const cls = b.class ? graphShort(this.className(b)) : "", cost = this.cost(item);
    item.cost = cost;
    item.time = this.costText(cost);
    if (item.children) {
      item.sub = cls === item.name ? "" : cls;
      item.header = 30;
      item.minWidth = 44 + this.textWidth(item.name, bold) + this.textWidth(item.sub, plain) + (item.time ? 60 : 0);
    } else {
      const differ = this.marks ? this.marks.counts[b.index] : 0;
      item.sub = [cls === item.name ? "" : cls, graphPlural(b.seen, "op"), differ ? graphPlural(differ, "difference") : ""].filter(s => s).join("  \u00b7  ");
      item.w = Math.ceil(Math.max(120, 40 + this.textWidth(item.name, bold) + (item.time ? this.textWidth(item.time, plain) + 14 : 0), 42 + this.textWidth(item.sub, plain)));
      item.h = 46;
    }
  }

  badgeWidth(n) { return Math.max(26, this.textWidth("k" + n.group, "600 10px") + 12); }

  /* The node that tells its kernel's time: the first of those that are seen. */
  firstOf(n) {
    if (n.group === undefined) return n.index;
    if (this.firsts === undefined || this.firsts.model !== this.model) {
      this.firsts = {model: this.model, list: []};
      for (const x of this.model.nodes) if (x.group !== undefined && !x.hide && this.firsts.list[x.group] === undefined) this.firsts.list[x.group] = x.index;
    }
    return this.firsts.list[n.group];
  }

  outputs(n) { return n.out.filter(v => this.model.users[v].length); }

  /* ---- layout ---- */

  relayout() {
    const begun = performance.now(), {root, edges} = this.model.items(this.expanded, item => this.size(item));
    layoutGraph(root, edges, {across: this.across});
    this.layoutMs = performance.now() - begun;
    this.tree = root;
    this.items = []; this.boxItems = [];
    const walk = item => { if (item.children) { if (item.parent) this.boxItems.push(item); item.children.forEach(walk); } else this.items.push(item); };
    walk(root);
    this.edges = edges;
    for (const e of edges) this.shapeEdge(e);
    this.labels();
    this.wiresOf = new Map();
    for (const e of edges) for (const i of [e.from, e.to]) { if (!this.wiresOf.has(i)) this.wiresOf.set(i, []); this.wiresOf.get(i).push(e); }
    for (const layer of Object.values(this.layers)) layer.textContent = "";
    this.drawn = new Map();
    this.farBoxes.setAttribute("d", ""); this.farText = null;
    this.hottest = Math.max(1e-9, ...this.items.map(i => i.cost || 0));
    this.mapDrawn = false;
    this.root.dataset.layoutMs = this.layoutMs.toFixed(1);
    this.draw();
  }

  /* The line as a path: vertical where it leaves and arrives, straight where it goes down, a curve where it moves to the side; or so across. */
  shapeEdge(e) {
    const p = e.points, n = p.length, d = ["M" + p[0].toFixed(1) + " " + p[1].toFixed(1)];
    let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity;
    for (let i = 0; i < n; i += 2) { x0 = Math.min(x0, p[i]); x1 = Math.max(x1, p[i]); y0 = Math.min(y0, p[i + 1]); y1 = Math.max(y1, p[i + 1]); }
    for (let i = 2; i < n; i += 2) {
      const ax = p[i - 2], ay = p[i - 1], bx = p[i], by = p[i + 1], mid = this.across ? (ax + bx) / 2 : (ay + by) / 2;
      if (Math.abs(this.across ? ay - by : ax - bx) < .6) d.push("L" + bx.toFixed(1) + " " + by.toFixed(1));
      else if (this.across) d.push("C" + mid.toFixed(1) + " " + ay.toFixed(1) + " " + mid.toFixed(1) + " " + by.toFixed(1) + " " + bx.toFixed(1) + " " + by.toFixed(1));
      else d.push("C" + ax.toFixed(1) + " " + mid.toFixed(1) + " " + bx.toFixed(1) + " " + mid.toFixed(1) + " " + bx.toFixed(1) + " " + by.toFixed(1));
    }
    e.path = d.join("");
    e.box = [x0, y0, x1, y1];
  }

  /* A shape for each value where it leaves its card, once; beside the line, or under it where several leave. */
  labels() {
    const seen = new Set();
    this.labelled = [];
    for (const e of this.edges) {
      const text = e.value < 0 ? "" : this.shape(e.value), id = e.key + "," + e.from.serial;
      if (!text || seen.has(id)) continue;
      seen.add(id);
      this.labelled.push({x: e.points[0] + 5, y: e.points[1] + (this.across ? -4 : 13), text, edge: e});
    }
  }

  /* ---- the window ---- */

  get frame() { if (this.whole) return this.whole; const r = this.svg.getBoundingClientRect(); return {w: r.width || 1200, h: r.height || 800}; }

  /* Below the bar, which has as many lines as it needs. */
  get top() { return Math.min(this.bar.offsetHeight, this.frame.h / 3) + 22; }

  /* All of it where that is legible, else its beginning. */
  home() {
    const {w, h} = this.frame, top = this.top, scale = Math.min((w - 40) / this.tree.w, (h - top - 20) / this.tree.h, 1.15);
    if (scale >= .7) { this.fit(); return; }
    const [at, side, along, long, room] = this.across ? ["y", "h", "x", "w", h - top - 40] : ["x", "w", "y", "h", w - 40];
    const first = this.items.reduce((a, b) => b[along] < a[along] ? b : a, this.items[0] || this.tree);
    if (room / this.tree[side] >= .55) this.scale = Math.min(1, room / this.tree[side]);
    else this.scale = Math.min(.8, Math.max(.4, room / first[side]));
    const seen = this.items.filter(i => i[along] < first[along] + (this.across ? w : h - top) / this.scale), length = (room + 32) / this.scale;
    const before = this.tree[side] <= length ? (length - this.tree[side]) / 2 : -this.clear(first, seen, at, side, length);
    this[at] = (this.across ? top + 4 : 4) + before * this.scale;
    this[along] = this.across ? 20 : top;
    this.draw();
  }

  /* Where a window that is this long begins so that it shows the first card and cuts as few others as can be; as near to the first card's middle as that allows. */
  clear(first, cards, at, side, length) {
    const middle = first[at] + (first[side] - length) / 2, gap = 8;
    const starts = [middle, ...cards.map(i => i[at] - gap), ...cards.map(i => i[at] + i[side] + gap - length)];
    const rank = start => {
      const inside = i => i[at] >= start && i[at] + i[side] <= start + length, cut = cards.filter(i => i[at] < start + length && i[at] + i[side] > start && !inside(i)).length;
      return [inside(first) ? 0 : 1, cut, -cards.filter(inside).length, Math.abs(start - middle)];
    };
    const less = (a, b) => { const k = a.findIndex((v, i) => v !== b[i]); return k >= 0 && a[k] < b[k]; };
    return starts.map(s => [s, rank(s)]).reduce((a, b) => less(b[1], a[1]) ? b : a)[0];
  }

  fit() {
    const {w, h} = this.frame, top = this.top;
    this.scale = Math.min((w - 40) / this.tree.w, (h - top - 20) / this.tree.h, 1.15);
    this.x = (w - this.tree.w * this.scale) / 2;
    this.y = top + Math.max(0, (h - top - 20 - this.tree.h * this.scale) / 2);
    this.draw();
  }

  /* All of the graph as it is opened now, as the text of an SVG file with the page's style in it. */
  picture() {
    const was = [this.x, this.y, this.scale], w = Math.ceil(this.tree.w + 40), h = Math.ceil(this.tree.h + 40);
    [this.x, this.y, this.scale] = [20, 20, 1];
    this.whole = {w, h};
    this.render();
    const svg = this.svg.cloneNode(true), style = graphElement(svg, "style");
    style.textContent = [...document.querySelectorAll("style")].map(e => e.textContent).join("\n");
    svg.prepend(style);
    this.whole = null;
    [this.x, this.y, this.scale] = was;
    this.render();
    svg.setAttribute("xmlns", SVG);
    svg.setAttribute("class", this.root.className);
    svg.setAttribute("style", "position: static; font: 13px/1.4 system-ui, sans-serif");
    for (const [k, v] of [["width", w], ["height", h], ["viewBox", `0 0 ${w} ${h}`]]) svg.setAttribute(k, v);
    return {text: new XMLSerializer().serializeToString(svg), w, h};
  }

  save(blob, ending) {
    const a = graphElement(document.body, "a", {href: URL.createObjectURL(blob), download: (this.data.title || "graph").replace(/\W+/g, "-") + "." + ending});
    a.click();
    a.remove();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
  }

  /* Twice as large as on the screen, but no larger than browsers draw. */
  savePng() {
    const {text, w, h} = this.picture(), scale = Math.min(2, 8192 / w, 8192 / h), image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas"), c = canvas.getContext("2d");
      [canvas.width, canvas.height] = [Math.ceil(w * scale), Math.ceil(h * scale)];
      c.fillStyle = getComputedStyle(this.root).backgroundColor;
      c.fillRect(0, 0, canvas.width, canvas.height);
      c.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(b => b && this.save(b, "png"));
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  }

  zoom(by, cx, cy) {
    const {w, h} = this.frame, scale = Math.min(4, Math.max(.004, this.scale * by));
    if (cx === undefined) { cx = w / 2; cy = h / 2; }
    this.x = cx - (cx - this.x) * scale / this.scale;
    this.y = cy - (cy - this.y) * scale / this.scale;
    this.scale = scale;
    this.draw();
  }

  pan(dx, dy) { this.x += dx; this.y += dy; this.draw(); }

  centre(item) {
    const {w, h} = this.frame;
    this.scale = Math.max(this.scale, .7);
    const panel = this.side.hidden ? 0 : 1, below = this.options.compact; /* where the panel is */
    this.x = w / 2 - (item.x + item.w / 2) * this.scale - (below ? 0 : panel * Math.min(175, w / 2 - 40));
    this.y = (below && panel ? h * .32 : h / 2) - (item.y + Math.min(item.h, h / this.scale) / 2) * this.scale;
    this.draw();
  }

  draw() {
    if (this.asked || this.scale === undefined) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; this.render(); });
  }

  render() {
    const {w, h} = this.frame, m = 80 / this.scale, view = [-this.x / this.scale - m, -this.y / this.scale - m, (w - this.x) / this.scale + m, (h - this.y) / this.scale + m];
    const inside = b => b[0] < view[2] && b[2] > view[0] && b[1] < view[3] && b[3] > view[1], area = i => [i.x, i.y, i.x + i.w, i.y + i.h];
    const cards = this.items.filter(i => inside(area(i))), far = cards.length > MOST_DRAWN && !this.whole;
    this.world.setAttribute("transform", `translate(${this.x.toFixed(2)} ${this.y.toFixed(2)}) scale(${this.scale.toFixed(5)})`);
    const want = new Set();
    const keep = (thing, layer, make) => {
      want.add(thing);
      if (!this.drawn.has(thing)) this.drawn.set(thing, make(this.layers[layer], thing));
    };
    this.boxItems.forEach(b => { if (inside(area(b)) && b.w * this.scale > 3) { keep(b, "box", (l, i) => this.drawBox(l, i)); if (this.scale > .3) keep(b.names, "head", l => this.drawHead(l, b)); } });
    if (!far) {
      for (const e of this.edges) if (inside(e.box)) keep(e, "wire", (l, x) => this.drawWire(l, x));
      for (const i of cards) keep(i, "card", (l, x) => this.drawCard(l, x));
      if (this.scale > .35) for (const t of this.labelled) if (inside([t.x, t.y - 12, t.x + 100, t.y])) keep(t, "label", (l, x) => graphElement(l, "text", {class: "gv-label", x: x.x, y: x.y}, x.text));
    }
    for (const [thing, e] of this.drawn) if (!want.has(thing)) { e.remove(); this.drawn.delete(thing); }
    this.drawFar(far);
    this.drawMap();
    this.root.dataset.drawnMs = this.root.dataset.drawnMs || performance.now().toFixed(1);
  }

  drawFar(far) {
    this.far.style.display = far ? "" : "none";
    if (!far) return;
    if (!this.farText) {
      this.farText = this.items.map(i => `M${i.x.toFixed(0)} ${i.y.toFixed(0)}h${i.w.toFixed(0)}v${i.h.toFixed(0)}h${(-i.w).toFixed(0)}z`).join("");
      this.farBoxes.setAttribute("d", this.farText);
      this.farWires.setAttribute("d", this.edges.map(e => e.path).join(""));
    }
    this.farWires.setAttribute("stroke-width", Math.min(4, .6 / this.scale));
  }

  /* ---- drawing ---- */

  drawBox(layer, item) {
    const flow = item.box.kind === "node" || item.box.kind === "block", g = graphElement(layer, "g", {class: "gv-box" + (flow ? " gv-flow" : "") + this.states(item)});
    graphElement(g, "rect", {x: item.x, y: item.y, width: item.w, height: item.h, rx: 8});
    const head = graphElement(g, "rect", {class: "gv-head", x: item.x, y: item.y, width: item.w, height: 30, rx: 8});
    head.item = item;
    return g;
  }

  /* Texts of boxes stand above the lines that go through. */
  drawHead(layer, item) {
    const g = graphElement(layer, "g", {class: "gv-title-of"});
    graphElement(g, "text", {class: "gv-sub", x: item.x + 10, y: item.y + 19}, "\u25be");
    const name = graphElement(g, "text", {class: "gv-name", x: item.x + 24, y: item.y + 20}, item.name);
    if (item.sub) graphElement(name, "tspan", {class: "gv-sub", dx: 8, "font-weight": 400}, item.sub);
    if (item.time) graphElement(g, "text", {class: "gv-time", x: item.x + item.w - 10, y: item.y + 19}, item.time);
    return g;
  }

  drawCard(layer, item) {
    const box = item.kind === "box", n = item.node, group = box || n.hide ? undefined : n.group;
    const g = graphElement(layer, "g", {class: `gv-card gv-${box ? "module" : item.type}${group === undefined ? "" : " gv-grouped"}${this.states(item)}`, transform: `translate(${item.x.toFixed(1)} ${item.y.toFixed(1)})`});
    const round = item.type === "io" || item.type === "mark" ? item.h / 2 : 7;
    if (group !== undefined) g.style.setProperty("--h", String(Math.round(group * 137.508 % 360)));
    if (box) graphElement(g, "rect", {class: "gv-back", x: 4, y: 4, width: item.w, height: item.h, rx: 7});
    graphElement(g, "rect", {class: "gv-face", width: item.w, height: item.h, rx: round});
    const heat = (item.cost || 0) / this.hottest;
    graphElement(g, "rect", {class: "gv-heat", width: item.w, height: item.h, rx: round, opacity: heat ? (.06 + .6 * Math.sqrt(heat)).toFixed(3) : 0});
    if (!box && item.type !== "io" && item.type !== "mark") graphElement(g, "path", {class: "gv-strip", d: `M5 .5 h-0 a5 5 0 0 0 -4.5 5 v${item.h - 11} a5 5 0 0 0 4.5 5 z`});
    const left = box ? 26 : item.type === "io" || item.type === "mark" ? item.w / 2 : 13;
    if (box) graphElement(g, "text", {class: "gv-sub", x: 11, y: 19}, "\u25b8");
    const name = graphElement(g, "text", {class: item.type === "mark" ? "gv-sub" : "gv-name", x: left, y: item.type === "mark" ? 15 : item.sub ? 19 : 20}, item.name);
    if (left === item.w / 2) name.setAttribute("text-anchor", "middle");
    if (item.sub) graphElement(g, "text", {class: "gv-sub", x: left, y: 35}, item.sub);
    if (item.time) graphElement(g, "text", {class: "gv-time", x: item.w - (group === undefined ? 9 : this.badgeWidth(n) + 12), y: 19}, item.time);
    if (group !== undefined) this.drawBadge(g, item, group);
    const state = this.stateOf(item);
    if (state) this.drawSign(g, item, state);
    g.item = item;
    return g;
  }

  drawBadge(g, item, group) {
    const b = graphElement(g, "g", {class: "gv-badge"});
    const w = this.badgeWidth(item.node);
    graphElement(b, "rect", {x: item.w - w - 7, y: 8, width: w, height: 15, rx: 7.5});
    graphElement(b, "text", {x: item.w - w / 2 - 7, y: 19}, "k" + group);
  }

  /* The class of a line by its dtype. */
  wireKind(e) {
    const m = e.value < 0 ? null : this.model.values[e.value].type.match(TENSOR);
    return m ? this.narrowKind(m[1]) : "";
  }
  tip(e) { const name = e.on ? "on" : this.wireKind(e); return "url(#gv-tip" + (name && "-" + name) + ")"; }

  drawWire(layer, e) {
    const kind = this.wireKind(e);
    return graphElement(layer, "path", {class: "gv-wire" + (kind && " gv-" + kind) + (e.value < 0 ? " gv-control" : "") + (e.on ? " gv-on" : ""), d: e.path, "marker-end": this.tip(e)});
  }

  /* "added", "removed", "changed", or "": of a closed box, if anything in it differs. */
  stateOf(item) {
    if (!this.marks) return "";
    return item.kind === "box" ? (!item.children && this.marks.counts[item.box.index] ? "changed" : "") : this.marks.states[item.node.index] || "";
  }

  drawSign(g, item, state) {
    const s = graphElement(g, "g", {class: "gv-sign", transform: `translate(${item.w - 1} 1)`});
    graphElement(s, "circle", {r: 9});
    graphElement(s, "text", {y: 4.5}, DIFF_SIGNS[state]);
  }

  states(item) { const state = this.stateOf(item); return (state && " gv-" + state) + (this.selected && this.selected === this.thing(item) ? " gv-on" : "") + (this.found && this.found === this.thing(item) ? " gv-found" : ""); }
  thing(item) { return item.kind === "box" ? item.box : item.node; }

  redrawStates() {
    for (const [thing, e] of this.drawn) {
      if (thing.points) {
        e.classList.toggle("gv-on", Boolean(thing.on));
        e.setAttribute("marker-end", this.tip(thing));
        if (thing.on) e.parentNode.appendChild(e);
      } else if (thing.kind) {
        e.classList.toggle("gv-on", this.selected === this.thing(thing));
        e.classList.toggle("gv-found", this.found === this.thing(thing));
      }
    }
  }

  light(item) {
    for (const e of this.edges) e.on = false;
    for (const e of item && this.wiresOf.get(item) || []) e.on = true;
    this.redrawStates();
  }

  drawMap() {
    const {w, h} = this.frame, small = this.tree.w * this.scale <= w && this.tree.h * this.scale <= h;
    this.map.hidden = small;
    this.key.style.maxWidth = "";
    if (small) return;
    const s = Math.min(180 / this.tree.w, 180 / this.tree.h), c = this.map, mw = Math.max(24, this.tree.w * s), mh = Math.max(24, this.tree.h * s), ratio = window.devicePixelRatio || 1;
    if (!this.mapDrawn) {
      c.width = mw * ratio; c.height = mh * ratio; c.style.width = mw + "px"; c.style.height = mh + "px";
      const style = getComputedStyle(this.root), ctx = c.getContext("2d");
      ctx.scale(ratio, ratio);
      ctx.globalAlpha = .5; ctx.strokeStyle = style.getPropertyValue("--line");
      this.mapX = (mw - this.tree.w * s) / 2; this.mapY = (mh - this.tree.h * s) / 2; /* what is very flat is in the middle */
      ctx.translate(this.mapX, this.mapY);
      for (const b of this.boxItems) ctx.strokeRect(b.x * s, b.y * s, b.w * s, b.h * s);
      ctx.globalAlpha = .8; ctx.fillStyle = style.getPropertyValue("--dim");
      for (const i of this.items) ctx.fillRect(i.x * s, i.y * s, Math.max(.8, i.w * s), Math.max(.8, i.h * s));
      this.mapImage = ctx.getImageData(0, 0, c.width, c.height);
      this.mapScale = s; this.mapDrawn = true;
    }
    this.key.style.maxWidth = `calc(100% - ${Math.ceil(mw) + 38}px)`; /* beside the map */
    const ctx = c.getContext("2d"), accent = getComputedStyle(this.root).getPropertyValue("--accent");
    ctx.putImageData(this.mapImage, 0, 0);
    ctx.strokeStyle = accent; ctx.lineWidth = 1.5;
    const f = this.mapScale / this.scale;
    ctx.strokeRect(this.mapX - this.x * f + .5, this.mapY - this.y * f + .5, Math.max(3, w * f - 1), Math.max(3, h * f - 1));
  }

  /* ---- opening and closing ---- */

  /* Keeps the place of what was clicked. */
  toggle(item) {
    const names = item.names, opening = !item.children, x = this.x + item.x * this.scale, y = this.y + item.y * this.scale, wide = item.w * this.scale;
    for (const b of names) if (opening) this.expanded.add(b.index); else this.expanded.delete(b.index);
    this.relayout();
    const now = [...this.boxItems, ...this.items].find(i => i.kind === "box" && i.box === item.box);
    if (now) {
      this.x += x + wide / 2 - (this.x + (now.x + now.w / 2) * this.scale);
      this.y += y - (this.y + now.y * this.scale);
    }
    this.draw();
  }

  /* panel: it is described there. */
  show(node, panel = true) {
    if (!this.model.seen[node.index]) this.setPlumbing(true);
    for (const b of this.model.above(node)) this.expanded.add(b);
    this.relayout();
    const item = this.model.itemOf[node.index];
    if (item && panel) this.select(item);
    else if (item) { this.selected = this.thing(item); this.light(item); }
    if (item) this.centre(item);
  }

  /* A module: what it is in is opened, it stays as it is. */
  showBox(box) {
    const inside = i => { for (let b = this.model.boxes[i]; b; b = this.model.boxes[b.parent]) if (b === box) return true; return false; };
    if (box.seen === 1) { this.show(this.model.only(box)); return; } /* it is drawn as that */
    if (!box.seen) { const n = this.model.nodes.find(x => inside(x.box)); if (n) this.show(n); return; }
    for (let b = this.model.boxes[box.parent]; b; b = this.model.boxes[b.parent]) this.expanded.add(b.index);
    this.relayout();
    const item = [...this.items, ...this.boxItems].find(i => i.kind === "box" && i.names.includes(box));
    if (item) { this.select(item); this.centre(item); }
  }

  /* ---- what is chosen ---- */

  select(item) {
    this.selected = item ? this.thing(item) : null;
    if (this.edges) this.light(item);
    this.side.hidden = !item;
    if (item) this.describe(item);
    if (this.options.onselect) this.options.onselect(this.selected);
  }

  describe(item) {
    const side = this.side;
    side.textContent = "";
    const close = graphElement(side, "button", {class: "gv-close", type: "button", title: "close (Esc)"}, "\u00d7");
    close.onclick = () => this.select(null);
    if (item.kind === "box") this.describeBox(item);
    else this.describeNode(item.node);
    side.scrollTop = 0;
  }

  rows(title, list) {
    if (!list.length) return;
    graphElement(this.side, "h4", {}, title);
    const table = graphElement(this.side, "table");
    for (const [name, fill] of list) {
      const row = graphElement(table, "tr");
      graphElement(row, "td", {}, name);
      const cell = graphElement(row, "td");
      if (typeof fill === "function") fill(cell); else graphElement(cell, "code", {}, fill);
    }
  }

  describeBox(item) {
    const b = item.box, m = this.model, list = [];
    graphElement(this.side, "h3", {}, item.name || "module");
    if (b.class) graphElement(this.side, "p", {}, b.class);
    if (m.pathOf(b)) list.push(["path", m.pathOf(b)]);
    list.push(["operators", String(b.seen)]);
    const percent = (part, of) => of ? " (" + (100 * part / of).toFixed(1) + "%)" : "", path = m.pathOf(b), [parameters, buffers] = this.weightsOf(path && path + ".");
    if (parameters) list.push(["parameters", parameters.toLocaleString("en")]);
    if (buffers) list.push(["in buffers", buffers.toLocaleString("en")]);
    if (m.counted) list.push(["operations", this.flops(b) + percent(b.flops, m.boxes[0].flops)]);
    if (m.timed) list.push(["time", (graphTime(b.us) || "0") + percent(b.us, m.boxes[0].us)]);
    this.rows("Module", list);
    const kinds = new Map(), stack = [b];
    while (stack.length) { const x = stack.pop(); for (const n of x.leaves) if (!n.role) kinds.set(this.opName(n), (kinds.get(this.opName(n)) || 0) + 1); stack.push(...x.boxes); }
    this.rows("Contains", [...kinds].sort((x, y) => y[1] - x[1]).slice(0, 40).map(([k, n]) => [k, String(n)]));
  }

  valueCell(v) {
    return cell => {
      const value = this.model.values[v], maker = this.model.maker[v], from = maker >= 0 ? this.model.nodes[maker] : null;
      if (value.text !== undefined) { graphElement(cell, "code", {}, value.text); return; }
      graphElement(cell, "code", {}, value.type);
      if (value.declared && value.declared !== value.type) cell.append(" declared ", graphElement(cell, "code", {}, value.declared));
      const name = value.parameter || "%" + value.name;
      if (from && this.model.itemOf[maker] && !value.parameter) { cell.append(" "); graphElement(cell, "a", {}, name).onclick = () => this.show(from); }
      else { cell.append(" "); graphElement(cell, "span", {}, name); }
    };
  }

  /* Its type, and who takes it. */
  outputCell(v) {
    return cell => {
      const users = this.model.users[v].map(i => this.model.nodes[i]);
      graphElement(cell, "code", {}, this.model.values[v].type);
      users.slice(0, 8).forEach((n, i) => {
        cell.append(i ? ", " : " to ");
        graphElement(cell, "a", {}, this.nodeTexts({node: n})[0]).onclick = () => this.show(n);
      });
      if (users.length > 8) cell.append(", \u2026");
    };
  }

  describeNode(n) {
    const m = this.model, op = n.op === undefined ? null : m.ops[n.op], list = [], state = this.marks && this.marks.states[n.index];
    graphElement(this.side, "h3", {}, n.role ? this.nodeTexts({node: n})[0] : n.kind);
    const path = m.pathOf(m.boxes[n.box]);
    if (path) graphElement(this.side, "p", {}, path);
    if (state) {
      graphElement(this.side, "p", {class: "gvc-chip gv-" + state}, DIFF_SIGNS[state] + " " + state);
      for (const r of this.marks.reasons.get(n.index) || []) graphElement(this.side, "p", {class: "gvc-reason"}, r);
    }
    if (m.counted && !n.role && !n.hide) list.push(["operations", n.flops === null ? "not counted" : graphFlops(n.flops || 0)]);
    if (n.us !== undefined) list.push(["this node", graphTime(n.us)]);
    if (n.group !== undefined) {
      const g = m.groups[n.group];
      list.push(["kernel", "k" + n.group + ", " + g.node]);
      list.push(["operators in it", String(m.groupSize[n.group])]);
      if (g.us !== undefined) list.push(["kernel's time", graphTime(g.us)]);
    }
    this.rows("Runs", list);
    if (n.at !== undefined) {
      const l = m.lines[n.at];
      graphElement(this.side, "h4", {}, "Source");
      graphElement(this.side, "p", {}, l.file + ":" + l.line);
      if (l.text) graphElement(this.side, "pre", {}, l.text);
    }
    this.rows("Inputs", n.in.map((v, i) => [op && op.args[i] !== undefined ? op.args[i] : String(i), this.valueCell(v)]));
    this.rows("Outputs", n.out.map(v => ["%" + m.values[v].name, this.outputCell(v)]));
    this.rows("Attributes", Object.entries(n.attributes || {}).concat(n.scope ? [["scope", n.scope]] : []));
    if (op) { graphElement(this.side, "h4", {}, "Schema"); graphElement(this.side, "pre", {}, op.schema); }
  }

  /* ---- search ---- */

  /* What is found is told by this in other graphs of the model, too. */
  hitKey(r) { return r.b ? "module " + r.path : r.n.kind + " " + r.path + " " + r.n.out.map(v => this.model.values[v].parameter || "").join(" "); }

  /* In another graph: what was found stays found, and is shown. */
  searchAgain() {
    const was = this.hitName;
    this.search(this.query.value);
    this.hits.textContent = "";
    const i = this.results.findIndex(r => this.hitKey(r) === was);
    if (i >= 0) this.goHit(i);
  }

  /* The hit stays where it was if it is still one. */
  search(text) {
    const q = text.trim().toLowerCase(), m = this.model, was = this.hit >= 0 ? this.results[this.hit].b || this.results[this.hit].n : null;
    this.hits.textContent = "";
    this.found = null; this.hit = -1; this.results = [];
    if (q) {
      for (const b of m.boxes) {
        const path = m.pathOf(b);
        if (b.index && b.kind === "module" && (path + " " + (b.class || "")).toLowerCase().includes(q) && this.results.length < 100) this.results.push({b, path});
      }
      this.results.sort((x, y) => !x.path.toLowerCase().endsWith(q) - !y.path.toLowerCase().endsWith(q));
      for (const n of m.nodes) {
        if (this.results.length >= 200) break;
        if (!m.seen[n.index] && n.kind === "prim::Constant") continue;
        const path = m.pathOf(m.boxes[n.box]), names = n.out.map(v => m.values[v].name + " " + (m.values[v].parameter || "")).join(" ");
        if ((n.kind + " " + path + " " + names).toLowerCase().includes(q)) this.results.push({n, path});
      }
    }
    this.results.slice(0, 60).forEach((r, i) => {
      const row = graphElement(this.hits, "div", {}, r.b ? "module " + (r.b.class || "").split(".").pop() : r.n.role === "input" ? "input " + m.values[r.n.out[0]].name : this.opName(r.n));
      graphElement(row, "small", {}, r.path);
      row.onclick = () => this.goHit(i);
    });
    this.hit = was ? this.results.findIndex(r => (r.b || r.n) === was) : -1;
    if (this.hit >= 0) { this.found = was; this.markHit(); } else this.hitName = null;
    if (q && !this.results.length) graphElement(this.hits, "div", {}, "nothing found");
    if (this.drawn) this.redrawStates();
  }

  goHit(i) {
    if (!this.results || !this.results.length) return;
    this.hit = (i + this.results.length) % this.results.length;
    const {b, n} = this.results[this.hit];
    this.found = b || n;
    this.hitName = this.hitKey(this.results[this.hit]);
    this.markHit();
    if (b) this.showBox(b); else this.show(n);
    this.redrawStates();
  }

  markHit() {
    [...this.hits.children].forEach((e, k) => { e.classList.toggle("gv-on", k === this.hit); if (k === this.hit) e.scrollIntoView({block: "nearest"}); });
  }

  /* ---- mouse, touch, keyboard ---- */

  listen() {
    const svg = this.svg, fingers = new Map();
    let moved = 0, spread = 0;
    svg.addEventListener("wheel", e => {
      e.preventDefault();
      const r = svg.getBoundingClientRect(), step = e.deltaMode === 1 ? 18 : e.deltaMode === 2 ? 300 : 1;
      if (e.shiftKey) this.pan(-(e.deltaX || e.deltaY) * step, 0);
      else this.zoom(Math.exp(-Math.max(-240, Math.min(240, e.deltaY * step)) * (e.ctrlKey ? .01 : .0022)), e.clientX - r.left, e.clientY - r.top);
    }, {passive: false});
    svg.addEventListener("pointerdown", e => { fingers.set(e.pointerId, e); moved = 0; spread = 0; svg.setPointerCapture(e.pointerId); });
    svg.addEventListener("pointermove", e => {
      const was = fingers.get(e.pointerId);
      if (!was) return;
      fingers.set(e.pointerId, e);
      moved += Math.abs(e.clientX - was.clientX) + Math.abs(e.clientY - was.clientY);
      if (fingers.size === 1) { if (moved > 3) { svg.classList.add("gv-drag"); this.pan(e.clientX - was.clientX, e.clientY - was.clientY); } return; }
      const [a, b] = [...fingers.values()], apart = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY), r = svg.getBoundingClientRect();
      if (spread) this.zoom(apart / spread, (a.clientX + b.clientX) / 2 - r.left, (a.clientY + b.clientY) / 2 - r.top);
      spread = apart;
    });
    const up = e => {
      if (fingers.delete(e.pointerId) && moved <= 3 && e.type === "pointerup") this.click(document.elementFromPoint(e.clientX, e.clientY));
      svg.classList.remove("gv-drag");
    };
    svg.addEventListener("pointerup", up);
    svg.addEventListener("pointercancel", up);
    svg.addEventListener("pointerover", e => { if (!this.selected && !fingers.size) this.light(this.itemAt(e.target)); });
    svg.addEventListener("dblclick", e => { const i = this.itemAt(e.target); if (!i) this.zoom(1.6, e.offsetX, e.offsetY); });
    svg.addEventListener("keydown", e => this.keyDown(e));
    if (!this.options.compact) document.addEventListener("keydown", e => { if (e.key === "/" && document.activeElement !== this.query && !/^(?:INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) { this.query.focus(); e.preventDefault(); } });
    const jump = e => {
      if (e.type === "pointermove" && !e.buttons) return;
      const {w, h} = this.frame, r = this.map.getBoundingClientRect();
      this.x = w / 2 - (e.clientX - r.left - this.mapX) / this.mapScale * this.scale; this.y = h / 2 - (e.clientY - r.top - this.mapY) / this.mapScale * this.scale;
      this.draw();
    };
    this.map.addEventListener("pointerdown", jump);
    this.map.addEventListener("pointermove", jump);
    window.addEventListener("resize", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.mapDrawn = false; this.draw(); });
  }

  itemAt(e) {
    for (; e && e !== this.svg; e = e.parentNode) if (e.item) return e.item;
    return null;
  }

  /* A closed module opens, an open one closes by its head; the panel tells of both. */
  click(target) {
    const item = this.itemAt(target);
    if (item && item.kind === "box" && (!item.children || target.classList.contains("gv-head"))) {
      this.toggle(item);
      const now = [...this.boxItems, ...this.items].find(i => i.kind === "box" && i.box === item.box);
      if (!this.side.hidden && now) this.select(now);
    } else {
      this.select(item);
    }
  }

  keyDown(e) {
    const step = 60, keys = {ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step], PageUp: [0, this.frame.h * .8], PageDown: [0, -this.frame.h * .8]};
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (keys[e.key]) this.pan(...keys[e.key]);
    else if (e.key === "+" || e.key === "=") this.zoom(1.25);
    else if (e.key === "-") this.zoom(1 / 1.25);
    else if (e.key === "f" || e.key === "0") this.fit();
    else if (e.key === "Home") this.home();
    else if (e.key === "d") this.setAcross(!this.across);
    else if (e.key === "p") this.setPlumbing(!this.model.plumbing);
    else if (e.key === "Escape") this.select(null);
    else return;
    e.preventDefault();
  }
}
