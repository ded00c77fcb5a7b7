#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pages of `ctsc view` in headless Chromium at 390, 1024 and 1920 pixels, light and dark, compared with tests/view/shots.json.

    tests/view/shots.py --ctsc build/ctsc [--update] [--keep FOLDER]

Fonts differ between machines, so texts are measured here as if all letters were equally wide: then the places of all boxes and lines are numbers that have
to be those of shots.json. What is really on the screen is looked up in a screenshot: pixels of cards, of their strips, of coloured lines and of the ground
have the colours that the styles say. Differences of two models are stepped through. And at each width nothing is cut off, the bar covers nothing, and colours stand out: 3:1 at least, texts 4.5:1.
--update writes shots.json anew; --keep leaves the screenshots in a folder."""
import argparse
import html
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXPECTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shots.json")
WIDTHS, HEIGHT = (390, 1024, 1920), 700

NET = """import torch
from torch import nn, Tensor
class Block(nn.Module):
    def __init__(self, n: int):
        super().__init__()
        self.conv = nn.Conv2d(n, n, 3, padding=1)
        self.norm = nn.BatchNorm2d(n)
    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.norm(self.conv(x))) + x
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2)
        self.blocks = nn.Sequential(*[Block(8) for i in range(2)])
        self.rnn = nn.LSTM(8, 8, 2)
        self.head = nn.Linear(8, 4).to(torch.bfloat16)
    def forward(self, x: Tensor) -> Tensor:
        x = self.blocks(self.stem(x))
        q = torch.quantize_per_tensor(x, 0.1, 10, torch.quint8)
        y, _ = self.rnn(torch.dequantize(q).mean([3]).permute(2, 0, 1))
        return self.head(y.to(torch.bfloat16)).to(torch.float32)
"""
OTHER = NET.replace("range(2)", "range(3)").replace("stride=2", "stride=1").replace("return self.head(y.to(torch.bfloat16)).to(torch.float32)",
                                                                                    "return torch.tanh(self.head(y.to(torch.bfloat16)).to(torch.float32))")
SPEC = "float32[1,3,16,16]:0.5"

# Before the page's scripts: letters are 6.6 pixels wide.
MEASURE = "<script>CanvasRenderingContext2D.prototype.measureText = text => ({width: 6.6 * text.length});</script>"

# In the page around the frames: what is drawn in them, and which pixel should have which colour.
COLLECT = """<script>
/* Steps through the differences of two models: both sides show each. */
function act(c, bad) {
  const rows = c.root.querySelectorAll(".gvc-row:not(.gvc-weight)"), {list, models, partner} = c.now;
  c.toggleList();
  if (rows.length !== list.length || !rows[0].getBoundingClientRect().height) bad("the list does not show " + list.length + " differences");
  list.forEach((d, i) => {
    c.go(i);
    c.views.forEach((v, k) => {
      const node = d["ab"[k]];
      if (node && v.selected !== node) bad("difference " + i + " is not shown");
      if (!node && (!v.selected || partner[k][v.selected.index] < 0)) bad("nothing is shown beside difference " + i);
    });
    if (!c.views[d.b ? 1 : 0].side.textContent.includes(d.state)) bad("the panel does not say " + d.state);
  });
  const n = models[0].nodes.find(x => partner[0][x.index] >= 0 && x.kind === "aten::relu");
  c.views[0].show(n);
  if (c.views[1].selected !== models[1].nodes[partner[0][n.index]]) bad("what is chosen on one side is not shown on the other");
  c.views[0].select(null);
  if (c.views[1].selected) bad("what was chosen stays");
}
addEventListener("load", () => setTimeout(() => {
  const R = {pages: [], errors: []};
  for (const f of document.querySelectorAll("iframe")) {
    const d = f.contentDocument, w = f.contentWindow, root = d.getElementById("view"), views = root.view.views || [root.view], at = f.getBoundingClientRect();
    const page = {name: f.title, width: f.clientWidth, views: [], pixels: [], colours: {}}, bad = t => R.errors.push(f.title + " at " + f.clientWidth + ": " + t);
    const css = name => { const e = d.createElement("i"); e.style.color = "var(" + name + ")"; root.append(e); const c = w.getComputedStyle(e).color; e.remove(); return c; };
    for (const n of ["--bg", "--card", "--fg", "--dim", "--half", "--eighth", "--quant", "--added", "--removed", "--changed", "--conv", "--norm", "--act", "--pool", "--shape"]) page.colours[n.slice(2)] = css(n);
    if (d.documentElement.scrollWidth > f.clientWidth) bad("the page is " + d.documentElement.scrollWidth + " wide");
    for (const b of d.querySelectorAll("button, input, .gv-key, .gvc-chip")) {
      const r = b.getBoundingClientRect();
      if (r.width && (r.right > f.clientWidth + 1 || r.left < -1)) bad((b.textContent || b.className) + " ends at " + r.right);
    }
    for (const v of views) {
      v.asked = false; v.render();
      const n = x => Math.round(x), area = i => [n(i.x), n(i.y), n(i.w), n(i.h)], own = v.root.getBoundingClientRect(), bar = v.bar.getBoundingClientRect(), key = v.key.getBoundingClientRect();
      page.views.push({
        cards: v.items.map(i => [i.name, i.sub || "", i.type || "box", ...area(i), v.stateOf(i)]), boxes: v.boxItems.map(i => [i.name, ...area(i)]),
        lines: v.edges.map(e => [v.wireKind(e), e.points.length, n(e.box[0]), n(e.box[1]), n(e.box[2]), n(e.box[3])]), labels: v.labelled.map(l => [l.text, n(l.x), n(l.y)]),
      });
      const map = v.map.getBoundingClientRect();
      if (map.width && key.left < map.right && key.top < map.bottom) bad("the figures cover the map");
      if (Math.min(...v.items.map(i => i.y)) * v.scale + v.y + own.top < bar.bottom - 16) bad("the bar covers what is drawn first");
      /* The topmost element at a place of the graph, and the place in the window. */
      const place = (x, y) => [own.left + v.x + x * v.scale, own.top + v.y + y * v.scale];
      const free = (x, y, e) => x > own.left + 3 && x < own.right - 3 && y > bar.bottom + 3 && y < own.bottom - 3 && (x < key.left - 3 || y < key.top - 3) && (!e || d.elementFromPoint(x, y) === e);
      const pixel = (what, x, y, colour) => { if (page.pixels.length < 60) page.pixels.push([what, n(at.left + x), n(at.top + y), colour]); };
      for (const g of v.layers.card.children) {
        const i = g.item, face = g.querySelector(".gv-face"), [x, y] = place(i.x + i.w - 8, i.y + i.h - 7), strip = g.querySelector(".gv-strip");
        if (i.w * v.scale > 30 && free(x, y, face)) pixel(i.name, x, y, w.getComputedStyle(face).fill);
        const [sx, sy] = place(i.x + 2.5, i.y + i.h / 2);
        if (strip && v.scale > .7 && free(sx, sy)) pixel(i.name + "'s strip", sx, sy, w.getComputedStyle(strip).fill);
      }
      for (const e of v.edges) {
        const p = e.points, kind = v.wireKind(e);
        if (!kind || kind !== "half" || v.scale < .9 || Math.abs(p[0] - p[2]) > .1) continue;
        const [x, y] = place(p[0], p[1] + 8);
        if (free(x, y)) pixel("a line of " + kind, x, y, css("--" + kind));
      }
      const [gx, gy] = [own.left + 6, own.bottom - 120];
      if (free(gx, gy, v.svg)) pixel("the ground", gx, gy, css("--bg"));
    }
    R.pages.push(page);
    if (location.hash === "#act" && root.view.views) act(root.view, bad);
  }
  const out = document.createElement("pre");
  out.hidden = true; out.id = "result"; out.textContent = JSON.stringify(R);
  document.body.append(out);
}, 1500));
</script>"""


def chromium(url, folder, dark, *options):
    command = [shutil.which("chromium"), "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files", "--force-color-profile=srgb",
               "--user-data-dir=" + os.path.join(folder, "profile"), "--window-size=%d,%d" % (WIDTHS[-1], 4 * HEIGHT), "--virtual-time-budget=6000",
               *(["--blink-settings=preferredColorScheme=0"] if dark else ["--blink-settings=preferredColorScheme=1"]), *options, url]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=300).stdout.decode()


def pages(ctsc, folder):
    """Two pages without times: a network, and its differences from another."""
    for name, source in (("net", NET), ("other", OTHER)):
        with open(os.path.join(folder, name + ".py"), "w") as f:
            f.write(source)
    names = []
    for title, models in (("one", ["net.py"]), ("two", ["net.py", "other.py"])):
        text = subprocess.run([ctsc, "view", *models, "--input", SPEC, "--calls", "0", "--opt", "0", "-o", "-"], cwd=folder, stdout=subprocess.PIPE, check=True).stdout.decode()
        at = text.index("<style>")
        with open(os.path.join(folder, title + ".html"), "w") as f:
            f.write(text[:at] + MEASURE + text[at:])
        names.append(title)
    with open(os.path.join(folder, "frames.html"), "w") as f:
        frames = "".join('<iframe title="%s" src="%s.html" style="width: %dpx; height: %dpx"></iframe>' % (n, n, w, HEIGHT) for n in names for w in WIDTHS)
        f.write('<!doctype html><meta name="color-scheme" content="light dark"><style>body { margin: 0; font-size: 0 } iframe { border: 0; vertical-align: top }</style><body>' + frames + COLLECT)
    return "file://" + os.path.join(folder, "frames.html")


def paeth(a, b, c):
    p = a + b - c
    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


class Png:
    """The rows of an 8-bit RGB or RGBA image without interlacing, which is what Chromium writes."""

    def __init__(self, path):
        with open(path, "rb") as f:
            data = f.read()
        at, packed = 8, b""
        while at < len(data):
            length, kind = struct.unpack(">I4s", data[at:at + 8])
            body = data[at + 8:at + 8 + length]
            if kind == b"IHDR":
                self.width, self.height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
                assert depth == 8 and colour in (2, 6) and not interlaced, "not such an image"
                self.step = 3 if colour == 2 else 4
            elif kind == b"IDAT":
                packed += body
            at += 12 + length
        self.raw, self.rows, self.line = zlib.decompress(packed), [], bytearray(self.width * self.step)

    def row(self, y):
        n, step = self.width * self.step, self.step
        while len(self.rows) <= y:
            at = len(self.rows) * (n + 1)
            method, line, up = self.raw[at], bytearray(self.raw[at + 1:at + 1 + n]), self.line
            if method == 1:
                for i in range(step, n):
                    line[i] = (line[i] + line[i - step]) & 255
            elif method == 2:
                for i in range(n):
                    line[i] = (line[i] + up[i]) & 255
            elif method == 3:
                for i in range(n):
                    line[i] = (line[i] + ((line[i - step] if i >= step else 0) + up[i]) // 2) & 255
            elif method == 4:
                for i in range(n):
                    line[i] = (line[i] + paeth(line[i - step] if i >= step else 0, up[i], up[i - step] if i >= step else 0)) & 255
            self.rows.append(line)
            self.line = line
        return self.rows[y]

    def pixel(self, x, y):
        return tuple(self.row(y)[x * self.step:x * self.step + 3])


def rgb(text):
    return tuple(int(float(n)) for n in re.findall(r"[\d.]+", text)[:3])


def luminance(colour):
    parts = [c / 255 for c in colour]
    r, g, b = [c / 12.92 if c <= .03928 else ((c + .055) / 1.055) ** 2.4 for c in parts]
    return .2126 * r + .7152 * g + .0722 * b


def contrast(a, b):
    x, y = sorted((luminance(a), luminance(b)))
    return (y + .05) / (x + .05)


def check_contrast(colours, scheme):
    problems = []
    least = [(name, "bg", 3) for name in ("half", "eighth", "quant", "conv", "norm", "act", "pool", "shape")] + [(name, "bg", 4.5) for name in ("added", "removed", "changed", "fg", "dim")]
    for name, ground, ratio in least + [("fg", "card", 4.5), ("dim", "card", 4.5)]:
        have = contrast(rgb(colours[name]), rgb(colours[ground]))
        if have < ratio:
            problems.append("%s: --%s on --%s has a contrast of %.2f, less than %s" % (scheme, name, ground, have, ratio))
    return problems


def check_pixels(png, page, scheme):
    wrong = []
    for what, x, y, colour in page["pixels"]:
        if not (0 <= x < png.width and 0 <= y < png.height):
            continue
        want, near = rgb(colour), [png.pixel(x + dx, y + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)]
        if min(max(abs(a - b) for a, b in zip(want, have)) for have in near) > 24:
            wrong.append("%s at %d, %s: %s at %d, %d is %s, not %s" % (page["name"], page["width"], scheme, what, x, y, near[4], want))
    if len(page["pixels"]) < 5:
        wrong.append("%s at %d, %s: only %d pixels to look at" % (page["name"], page["width"], scheme, len(page["pixels"])))
    return wrong


def differences(want, have, path=""):
    """Where two values of JSON differ; places by more than a pixel."""
    if isinstance(want, list) and isinstance(have, list) and len(want) == len(have):
        return [d for i, (a, b) in enumerate(zip(want, have)) for d in differences(a, b, "%s[%d]" % (path, i))]
    if isinstance(want, dict) and isinstance(have, dict) and want.keys() == have.keys():
        return [d for k in want for d in differences(want[k], have[k], path + "." + k)]
    if isinstance(want, int) and isinstance(have, int) and abs(want - have) <= 1:
        return []
    return [] if want == have else ["%s is %.200s, not %.200s" % (path, json.dumps(have), json.dumps(want))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ctsc", default=os.path.join(ROOT, "build", "ctsc"))
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--keep")
    args = parser.parse_args()
    problems, seen = [], {}
    if args.keep:
        os.makedirs(args.keep, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        url = pages(os.path.abspath(args.ctsc), folder)
        for scheme in ("light", "dark"):
            shot = os.path.join(args.keep or folder, scheme + ".png")
            found = re.search(r'<pre hidden="" id="result">(.*?)</pre>', chromium(url + "#act", folder, scheme == "dark", "--dump-dom"), re.S)
            chromium(url, folder, scheme == "dark", "--screenshot=" + shot)
            if not found or not os.path.exists(shot):
                problems.append(scheme + ": the pages' scripts did not come to their end")
                continue
            result, png = json.loads(html.unescape(found.group(1))), Png(shot)
            problems += [scheme + ": " + e for e in result["errors"]] + check_contrast(result["pages"][0]["colours"], scheme)
            for page in result["pages"]:
                problems += check_pixels(png, page, scheme)
                if page["name"] not in seen:
                    seen[page["name"]] = page["views"]
                problems += ["%s at %d, %s: %s" % (page["name"], page["width"], scheme, d) for d in differences(seen[page["name"]], page["views"])]
            if result["pages"][0]["colours"]["bg"] == seen.setdefault("bg", {}).get("other"):
                problems.append("light and dark have one ground")
            seen["bg"]["other"] = result["pages"][0]["colours"]["bg"]
    seen.pop("bg", None)
    if args.update:
        with open(EXPECTED, "w") as f:
            f.write(json.dumps(seen, ensure_ascii=False).replace("}, {", "},\n{").replace("]], ", "]],\n").replace("], [", "],\n[") + "\n")
    else:
        with open(EXPECTED) as f:
            problems += differences(json.load(f), seen)
    print("\n".join(problems[:40]) if problems else "no problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
