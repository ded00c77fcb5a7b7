#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pages of `ctsc view` and the server's status page in headless Chromium (`make test-view`): networks of 10, 500 and 5,000 nodes, with modules and flat,
and files with hostile names.

For each page: milliseconds until the graph was drawn, and how many boxes there are. Fails where boxes overlap, an edge has no ends, a text is wider than
its box, more is cut at the sides than has to be, a script of a name runs, or what is clicked does not open.

    tests/view/browser.py --ctsc build/ctsc [--shots FOLDER] [MODEL INPUT...]
"""
import argparse
import html
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check import HOSTILE, ROOT  # noqa: E402

HEAD = "import torch\nfrom torch import nn, Tensor\n"
BLOCKS = HEAD + """class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(4)
        self.up = nn.Linear(4, 8)
        self.down = nn.Linear(8, 4)
    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x)
        return x + self.down(torch.relu(self.up(y))) * torch.sigmoid(y)
class Stage(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*[Block() for i in range(8)])
    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.blocks(x))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList([Stage() for i in range(%d)])
    def forward(self, x: Tensor) -> Tensor:
        for s in self.stages:
            x = s(x)
        return x
"""


def flat(n):
    lines = ["    x%d = torch.relu(x%d) + x%d" % (i + 1, i, max(0, i - i * 7 % 5)) for i in range(n // 2)]
    return HEAD + "def forward(x0: Tensor) -> Tensor:\n" + "\n".join(lines) + "\n    return x%d\n" % (n // 2)


PAGES = [
    ("10", HEAD + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(4, 4)\n        self.b = nn.Linear(4, 4)\n"
     "    def forward(self, x: Tensor) -> Tensor:\n        y = torch.relu(self.a(x))\n        if y.sum() > 1:\n            y = y * 2\n        return torch.cat([self.b(y), x, y], 1)\n"),
    ("branches", HEAD + "def forward(" + ", ".join("x%d: Tensor" % i for i in range(6)) + ") -> Tensor:\n"
     + "".join("    y%d = torch.nn.functional.scaled_dot_product_attention(x%d, x%d, torch.log_softmax(x%d, 1))\n" % (i, i, i, i) for i in range(6)) + "    return " + " + ".join("y%d" % i for i in range(6)) + "\n"),
    ("500", BLOCKS % 9),
    ("5000", BLOCKS % 89),
    ("5000-flat", flat(5000)),
]

# What happens in the page; the result is text of an element that --dump-dom shows. %s: what is expected of the title.
PROBE = """<script>
{
  const V = document.getElementById("%(id)s").view || view, R = {errors: [], states: {}};
  const bad = text => { if (R.errors.length < 20) R.errors.push(text); };
  window.onerror = e => bad(String(e));
  const look = name => {
    V.asked = false; V.render();
    const begun = performance.now(), cards = V.items.slice().sort((a, b) => a.y - b.y);
    cards.forEach((a, i) => {
      for (let k = i + 1; k < cards.length && cards[k].y < a.y + a.h; k++) {
        const b = cards[k];
        if (a.x < b.x + b.w && b.x < a.x + a.w) bad(name + ": " + a.name + " overlaps " + b.name);
      }
    });
    for (const e of V.edges) {
      const p = e.points, n = p.length, side = (x, y, i, w, h, a, b) => x >= i[a] - 1 && x <= i[a] + i[w] + 1 && (Math.abs(y - i[b]) < 1 || Math.abs(y - i[b] - i[h]) < 1);
      const at = (i, x, y) => V.across ? side(y, x, i, "h", "w", "y", "x") : side(x, y, i, "w", "h", "x", "y");
      if (n < 4 || !at(e.from, p[0], p[1]) || !at(e.to, p[n - 2], p[n - 1]) || !/^M[-0-9.LC ]+$/.test(e.path)) bad(name + ": an edge from " + e.from.name + " has no ends");
    }
    for (const g of V.scale < .5 ? [] : V.layers.card.children) { /* small texts are rounded */
      const w = Number(g.querySelector(".gv-face").getAttribute("width"));
      for (const t of g.querySelectorAll("text")) {
        const b = t.getBBox();
        if (b.x < -1 || b.x + b.width > w + 1) bad(name + ": '" + t.textContent + "' is wider than its box");
      }
    }
    R.states[name] = {items: V.items.length, edges: V.edges.length, cards: V.layers.card.children.length, wires: V.layers.wire.children.length, layout: Math.round(V.layoutMs)};
    if (!V.layers.card.children.length && V.far.style.display === "none") bad(name + ": nothing is drawn");
  };
  look("start");
  R.drawn = Number(V.root.dataset.drawnMs);
  const closed = V.items.find(i => i.kind === "box");
  if (closed) {
    const before = V.items.length;
    V.toggle(closed); look("opened");
    if (!(V.items.length > before)) bad("a module did not open");
    V.toggle(V.boxItems.find(i => i.box === closed.box)); look("closed");
    if (V.items.length !== before) bad("a module did not close");
  }
  V.expanded = new Set(V.model.boxes.map(b => b.index)); V.relayout(); V.home(); look("all");
  V.fit(); look("far");
  V.setAcross(true); look("across"); V.setAcross(false);
  V.setPlumbing(true); V.home(); look("plumbing");
  V.setPlumbing(false); V.expanded = new Set([0]); V.relayout(); V.home(); look("none");
  V.home(); V.render();
  const bar = V.bar.getBoundingClientRect().bottom - V.root.getBoundingClientRect().top;
  if (Math.min(...V.items.map(i => i.y)) * V.scale + V.y < bar - 1) bad("the bar covers what is drawn first");
  /* On a telephone: the first card is whole, and no more cards are cut at the sides than have to be. */
  V.expanded = new Set(V.model.boxes.map(b => b.index)); V.relayout();
  V.whole = {w: 390, h: 844}; V.home();
  const first = V.items.reduce((a, b) => b.y < a.y ? b : a), left = -V.x / V.scale, wide = 390 / V.scale;
  const cut = at => V.items.filter(i => i.y < first.y + 700 / V.scale && i.x < at + wide && i.x + i.w > at && (i.x < at || i.x + i.w > at + wide)).length;
  if (first.x < left || first.x + first.w > left + wide) bad("the first card is cut at 390 pixels");
  let least = Infinity;
  if (V.items.length < 100) for (let at = first.x + first.w - wide; at <= first.x; at += 4) least = Math.min(least, cut(at));
  if (cut(left) > least) bad(cut(left) + " cards are cut at 390 pixels, " + least + " have to be");
  V.whole = null; V.expanded = new Set([0]); V.relayout(); V.home();
  const drawing = new DOMParser().parseFromString(V.picture().text, "image/svg+xml");
  if (drawing.querySelector("parsererror") || drawing.querySelectorAll(".gv-card").length !== V.items.length || !drawing.querySelector("style").textContent.includes(".gv-card")) bad("the saved drawing lacks something");
  const inner = V.model.boxes.find(b => b.index && b.kind === "module" && b.parent);
  if (inner) {
    V.query.value = V.model.pathOf(inner).toUpperCase(); V.search(V.query.value); V.goHit(0);
    if (V.selected !== inner && !(inner.seen === 1 && V.selected === V.model.only(inner))) bad("a module that was searched for is not shown");
    if (V.data.graphs.length > 1) {
      const was = V.hitName;
      V.open(1);
      if (V.query.value && V.hitName !== was) bad("another graph forgets what was searched for");
      V.open(0);
    }
  }
  V.search("relu"); V.goHit(0);
  if (V.results.length && (!V.selected || V.side.hidden || !V.side.textContent.includes("relu"))) bad("what was found is not shown");
  look("found");
  for (const n of V.model.nodes.slice(0, 50)) { V.side.textContent = ""; V.describeNode(n); }
  if (document.images.length || document.querySelectorAll("script").length !== %(scripts)d) bad("a name became markup");
  const out = document.createElement("pre");
  out.id = "result"; out.textContent = JSON.stringify(R);
  document.body.append(out);
}
</script>"""


def chromium(url, folder, *options):
    command = [shutil.which("chromium") or "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=" + os.path.join(folder, "profile"),
               "--window-size=1400,900", "--virtual-time-budget=8000", *options, url]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=300).stdout.decode()


def result_of(dom):
    found = re.search(r'<pre id="result">(.*?)</pre>', dom, re.S)
    return json.loads(html.unescape(found.group(1))) if found else {"errors": ["the page's script did not come to its end"], "states": {}, "drawn": None}


def probe(page, folder, name, scripts=3):
    """The page with the probe behind it; its scripts are the data, the view and the probe."""
    path = os.path.join(folder, "probe.html")
    at = page.rindex("</body>")
    with open(path, "w") as f:
        f.write(page[:at] + PROBE % {"id": "view", "scripts": scripts} + page[at:])
    r = result_of(chromium("file://" + path, folder, "--dump-dom"))
    print("%-14s %5s ms to drawn  %s" % (name, r["drawn"], "  ".join("%s %d/%d" % (k, v["items"], v["edges"]) for k, v in r["states"].items())), flush=True)
    return ["%s: %s" % (name, e) for e in r["errors"]]


def view(ctsc, model, inputs, folder):
    path = os.path.join(folder, "page.html")
    command = [ctsc, "view", model, "-o", path, "--calls", "1"] + [a for i in inputs for a in ("--input", i)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    with open(path) as f:
        return f.read()


# Presses the buttons of the status page's "Try it" for a model of tokens.
TRY = """<!doctype html><body><iframe src="/#chargpt/1" style="width: 900px; height: 900px"></iframe><script>
const R = {errors: [], states: {}, drawn: null}, wait = async (what, done) => {
  for (let i = 0; i < 60; i++) { if (done()) return; await new Promise(r => setTimeout(r, 100)); }
  R.errors.push("the status page: no " + what);
};
(async () => {
  const d = document.querySelector("iframe").contentWindow, $ = id => d.document.getElementById(id);
  const docs = document.createElement("iframe");
  docs.src = "/docs"; document.body.append(docs);
  await wait("model's name in /docs", () => docs.contentDocument && docs.contentDocument.querySelector("[data-name=model]") && docs.contentDocument.querySelector("[data-name=model]").value === "chargpt");
  await wait("request", () => $("request") && $("request").value && !$("ways").hidden);
  for (const [how, said] of [["generate", '"finish_reason":"length"'], ["generate_stream", '"output_ids":[],"finish_reason":"length"']]) {
    $("how").value = how;
    $("how").onchange();
    $("send").click();
    await wait(how, () => !$("answer").hidden && $("answer").textContent.startsWith("200") && $("answer").textContent.includes(said) && $("curl").textContent.includes("/" + how));
  }
  const out = document.createElement("pre");
  out.id = "result"; out.textContent = JSON.stringify(R);
  document.body.append(out);
})();
</script>"""
WIDTHS = (390, 1024, 1920)
FRAMES = """<!doctype html><body>%s<script>
setTimeout(() => {
  const R = {errors: [], states: {}, drawn: null};
  for (const f of document.querySelectorAll("iframe")) {
    const d = f.contentDocument, wide = d.documentElement.scrollWidth;
    if (wide > f.clientWidth) R.errors.push(d.title + " is " + wide + " wide at " + f.clientWidth);
    for (const t of d.querySelectorAll(".chart text")) {
      const r = t.getBoundingClientRect();
      if (r.height < 10) R.errors.push(d.title + ": the text '" + t.textContent + "' of a chart is " + r.height + " high at " + f.clientWidth);
    }
    for (const b of d.querySelectorAll("button, a, input, textarea")) {
      const r = b.getBoundingClientRect();
      if (!b.closest("#graph, .wide") && r.right > f.clientWidth + 1) R.errors.push(d.title + ": " + (b.textContent || b.id) + " ends at " + r.right + " of " + f.clientWidth);
    }
  }
  const out = document.createElement("pre");
  out.id = "result"; out.textContent = JSON.stringify(R);
  document.body.append(out);
}, 5000);
</script>"""


def check_widths(url, folder, paths):
    """Pages of the server at the widths of a telephone and of screens."""
    frames = "".join('<iframe src="%s" style="width: %dpx; height: 900px; border: 0"></iframe>' % (p, w) for p in paths for w in WIDTHS)
    return check_frames(url, folder, FRAMES % frames)


def check_frames(url, folder, page):
    """Errors that a page finds in frames of the server's pages; they come, with it, from one place."""
    class Proxy(http.server.BaseHTTPRequestHandler):
        def answer(self):
            if self.path == "/frames":
                status, kind, body = 200, "text/html", page.encode()
            else:
                length = int(self.headers.get("Content-Length") or 0)
                request = urllib.request.Request(url + self.path, self.rfile.read(length) if self.command == "POST" else None, method=self.command)
                try:
                    with urllib.request.urlopen(request) as r:
                        status, kind, body = r.status, r.headers["Content-Type"], r.read()
                except urllib.error.HTTPError as e:
                    status, kind, body = e.code, "text/plain", e.read()
            self.send_response(status)
            self.send_header("Content-Type", kind or "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        do_GET = do_POST = answer

        def log_message(self, *_):
            pass
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    try:
        return result_of(chromium("http://127.0.0.1:%d/frames" % proxy.server_port, folder, "--dump-dom"))["errors"]
    finally:
        proxy.shutdown()


def check_server(ctsc, folder):
    """The status page draws the graph of a model that it serves and describes the model; its pages fit narrow screens."""
    repository = os.path.join(folder, "repository")
    os.makedirs(os.path.join(repository, "digits", "1"))
    shutil.copy(os.path.join(ROOT, "models", "digits_cnn.pt"), os.path.join(repository, "digits", "1", "model.pt"))
    shutil.copy(os.path.join(ROOT, "models", "chargpt.pt"), repository)
    server = subprocess.Popen([ctsc, "serve", repository, "--port", "0"], stderr=subprocess.PIPE, text=True)
    try:
        url = None
        for line in server.stderr:
            found = re.search(r"http://\S+", line)
            if found:
                url = found.group(0)
                break
        dom = chromium(url + "/#digits/1", folder, "--dump-dom")
        cards = dom.count('class="gv-card')
        print("%-14s %d boxes" % ("ctsc serve", cards))
        problems = [] if cards >= 5 and "conv" in dom else ["ctsc serve: its page draws no graph"]
        for text in ("ctsc_torchscript", "FP32", "/v2/models/digits/versions/1/infer"):
            if text not in dom:
                problems.append("ctsc serve: its page does not say " + text)
        docs = chromium(url + "/docs", folder, "--dump-dom")
        if docs.count("<details") < 20 or "/v2/models/{model}/infer" not in docs:
            problems.append("ctsc serve: /docs does not show what openapi.json has")
        return problems + check_widths(url, folder, ("/", "/docs")) + check_frames(url, folder, TRY)
    finally:
        server.terminate()
        server.wait()


def check_view_serve(ctsc):
    server = subprocess.Popen([ctsc, "view", os.path.join(ROOT, "models", "digits_cnn.pt"), "--serve", "--port", "0"], stderr=subprocess.PIPE, text=True)
    try:
        url = re.search(r"http://\S+", server.stderr.readline()).group(0)
        with urllib.request.urlopen(url) as r:
            return [] if b"GraphView" in r.read() else ["ctsc view --serve: not its page"]
    finally:
        server.terminate()
        server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", help="another model")
    parser.add_argument("inputs", nargs="*")
    parser.add_argument("--ctsc", default=os.path.join(ROOT, "build", "ctsc"))
    parser.add_argument("--shots", help="folder for pictures of the pages, light and dark")
    args = parser.parse_args()
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        pages = []
        for name, source in [] if args.model else PAGES + [("<img src=x onerror=alert(1)>", HOSTILE)]:
            model = os.path.join(folder, name + ".py")
            with open(model, "w") as f:
                f.write(source)
            pages.append((name, model, ["float32[3,2]"] if source is HOSTILE else ["float32[3,4]"] * (6 if name == "branches" else 1)))
        if args.model:
            pages.append((os.path.basename(args.model), args.model, args.inputs))
        for name, model, inputs in pages:
            page = view(args.ctsc, model, inputs, folder)
            problems += probe(page, folder, name.split(" ")[0])
            if args.shots:
                os.makedirs(args.shots, exist_ok=True)
                for dark in (False, True):
                    shot = os.path.join(args.shots, re.sub(r"\W+", "-", name) + ("-dark" if dark else "") + ".png")
                    chromium("file://" + os.path.join(folder, "page.html"), folder, "--screenshot=" + shot, *(["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if dark else []))
        if not args.model:
            problems += check_server(args.ctsc, folder) + check_view_serve(args.ctsc)
    print("\n".join(problems) if problems else "no problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
