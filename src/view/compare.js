/* SPDX-License-Identifier: Apache-2.0 */
/* compare.js - two graphs side by side, with what differs between them (diff.js) marked in both and listed.
 *
 *     new GraphCompare(element, {models: [data, data], weights: [...]})
 *
 * data: as of view.js; weights: as view_weights.h says. The first model is the old one: what only it has is removed. */
"use strict";

const DIFF_SIGNS = {added: "+", removed: "\u2212", changed: "~"};
const WEIGHT_WORDS = {changed: "other values", type: "other shape or dtype", added: "added", removed: "removed", renamed: "renamed"};
const MOST_OPENED = 60;

class GraphCompare {
  constructor(element, data) {
    this.root = element;
    this.data = data;
    element.classList.add("gv", "gvc");
    this.head = graphElement(element, "div", {class: "gvc-head"});
    const panes = graphElement(element, "div", {class: "gvc-panes"});
    this.views = data.models.map((m, k) => {
      const view = new GraphView(graphElement(panes, "div", {class: "gvc-pane"}), null, {compact: true, onselect: thing => this.chosen(k, thing)});
      view.take(m);
      return view;
    });
    this.names = data.models[0].graphs.map(g => g.name).filter(n => data.models[1].graphs.some(g => g.name === n)).sort().reverse(); /* as written first */
    this.found = new Map();
    this.show(this.names[0]);
    document.addEventListener("keydown", e => {
      if (/^(?:INPUT|TEXTAREA)$/.test(document.activeElement.tagName) || e.ctrlKey || e.metaKey || e.altKey) return;
      if (e.key === "n" || e.key === "N") this.go(this.at + (e.key === "n" ? 1 : -1));
    });
  }

  /* ---- graphs ---- */

  show(name) {
    this.name = name;
    const places = this.data.models.map(m => m.graphs.findIndex(g => g.name === name));
    if (!this.found.has(name)) {
      const models = this.data.models.map((m, k) => new GraphModel(m.graphs[places[k]]));
      this.found.set(name, Object.assign(graphDifferences(models[0], models[1], this.data.weights), {models}));
    }
    this.now = this.found.get(name);
    this.at = -1;
    this.views.forEach((view, k) => {
      view.models[places[k]] = this.now.models[k];
      view.marks = this.marks(k);
      view.open(places[k]);
    });
    this.buildHead();
  }

  /* What a view is to know: states and reasons of nodes, how many differ in each box, and which boxes are to be open. */
  marks(k) {
    const {states, list, models} = this.now, model = models[k], reasons = new Map(), counts = new Int32Array(model.boxes.length), open = new Set();
    for (const d of list) if (d["ab"[k]]) reasons.set(d["ab"[k]].index, d.reasons);
    const nodes = model.nodes.filter(n => states[k][n.index]);
    for (const n of nodes) {
      const above = model.above(n);
      for (const b of above) counts[b]++;
      if (nodes.length <= MOST_OPENED) for (const b of above) open.add(b);
    }
    return {states: states[k], reasons, counts, open};
  }

  /* ---- the head ---- */

  buildHead() {
    const head = this.head, {list} = this.now, weights = this.data.weights || [];
    head.textContent = "";
    const bar = graphElement(head, "div", {class: "gvc-line"}), title = graphElement(bar, "div", {class: "gv-title"});
    title.append(graphShort(this.data.models[0].title, 28) + " \u2192 " + graphShort(this.data.models[1].title, 28));
    for (const state of ["added", "removed", "changed"]) {
      const n = list.filter(d => d.state === state).length;
      graphElement(bar, "span", {class: "gvc-chip gv-" + state}, DIFF_SIGNS[state] + " " + n + " " + state);
    }
    if (weights.length) graphElement(bar, "span", {class: "gvc-chip"}, graphPlural(weights.length, "weight") + (weights.length === 1 ? " differs" : " differ"));
    if (!list.length && !weights.length) graphElement(bar, "span", {class: "gvc-chip"}, "no differences");
    graphElement(bar, "div", {class: "gv-fill"});
    if (this.names.length > 1) {
      const set = graphElement(bar, "div", {class: "gv-set"});
      for (const name of this.names) this.button(set, name, "", () => this.show(name)).setAttribute("aria-pressed", name === this.name);
    }
    const way = graphElement(bar, "div", {class: "gv-set"});
    for (const [across, text, title2] of [[false, "\u2193", "layers from top to bottom"], [true, "\u2192", "layers from left to right"]])
      this.button(way, text, title2, () => { for (const v of this.views) v.setAcross(across); this.buildHead(); }).setAttribute("aria-pressed", Boolean(this.views[0].across) === across);
    const steps = graphElement(bar, "div", {class: "gv-set"});
    this.button(steps, "\u2039", "the difference before (N)", () => this.go(this.at - 1));
    this.button(steps, "\u203a", "the next difference (n)", () => this.go(this.at + 1));
    this.listButton = this.button(steps, "List", "all differences", () => this.toggleList());
    this.listButton.setAttribute("aria-pressed", "false");
    this.list = graphElement(head, "div", {class: "gvc-list", hidden: ""});
    this.fillList();
  }

  button(set, text, title, action) {
    const b = graphElement(set, "button", {type: "button", title}, text);
    b.onclick = action;
    return b;
  }

  toggleList() {
    this.list.hidden = !this.list.hidden;
    this.listButton.setAttribute("aria-pressed", String(!this.list.hidden));
  }

  fillList() {
    const {list, models} = this.now;
    this.rows = list.slice(0, 1000).map((d, i) => {
      const k = d.b ? 1 : 0, node = d.b || d.a, view = this.views[k], row = graphElement(this.list, "div", {class: "gvc-row gv-" + d.state});
      graphElement(row, "span", {class: "gvc-sign"}, DIFF_SIGNS[d.state]);
      graphElement(row, "span", {}, view.nodeTexts({node})[0]);
      graphElement(row, "small", {}, models[k].pathOf(models[k].boxes[node.box]));
      for (const r of d.reasons) graphElement(row, "div", {class: "gvc-reason"}, r);
      row.onclick = () => this.go(i);
      return row;
    });
    if (list.length > 1000) graphElement(this.list, "div", {class: "gvc-row"}, "and " + (list.length - 1000) + " more");
    for (const w of (this.data.weights || []).slice(0, 1000)) {
      const row = graphElement(this.list, "div", {class: "gvc-row gvc-weight"});
      graphElement(row, "code", {}, w.name);
      graphElement(row, "small", {}, w.state === "changed" && w.most !== undefined ? diffMost(w) : w.state === "renamed" ? "was " + w.from : WEIGHT_WORDS[w.state]);
    }
    if (!list.length && !(this.data.weights || []).length) graphElement(this.list, "div", {class: "gvc-row"}, "The graphs and their weights are the same.");
  }

  /* ---- going there ---- */

  /* Shows a difference on both sides; where a side has no such node, what is before it. */
  go(i) {
    const {list} = this.now;
    if (!list.length) return;
    this.at = (i + list.length) % list.length;
    const d = list[this.at];
    this.going = true;
    this.views.forEach((view, k) => {
      const node = d["ab"[k]];
      if (node) view.show(node, k === (d.b ? 1 : 0));
      else { view.select(null); this.near(view, k, d); }
    });
    this.going = false;
    this.rows.forEach((row, k) => { row.classList.toggle("gv-on", k === this.at); });
    if (!this.list.hidden && this.rows[this.at]) this.rows[this.at].scrollIntoView({block: "nearest"});
  }

  /* The last node before this one that both have. */
  near(view, k, d) {
    const {partner, models} = this.now, own = 1 - k, node = d["ab"[own]];
    for (let i = node.index - 1; i >= 0; i--) if (partner[own][i] >= 0) { view.show(models[k].nodes[partner[own][i]], false); return; }
  }

  /* What is chosen in one graph is shown in the other. */
  chosen(k, thing) {
    const other = this.views[1 - k];
    if (this.going) return;
    const to = thing && thing.in ? this.now.partner[k][thing.index] : -1;
    this.going = true;
    other.select(null);
    if (to >= 0) other.show(this.now.models[1 - k].nodes[to], false);
    this.going = false;
  }
}
