#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same network as TorchScript (jit.trace) and as a program of torch.export: is it the same that ctsc runs?

    tests/pt2/forms.py --ctsc build/ctsc [-k NAME] [--times] [--rounds 3] [--threads 1] [--folder DIR]        (make bench-pt2)

Of both archives the graphs that run (`ctsc graph-for`) are compared: operators, and fusion groups by what stands in them; views, checks and what is computed of sizes are
left out. Work that only the .pt2 does, and more groups, fail (what only the .pt does, export has computed). With --times calls are timed, in turns, and a .pt2 that is slower by more than 3 % in
all rounds fails. Needs PyTorch 2.5 or newer; networks of torchvision and transformers are left out where these are missing."""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
os.environ.setdefault("TORCH_LOGS", "-all")

import torch  # noqa: E402
from torch import nn  # noqa: E402

# What moves nothing, or checks arguments. What a trace computes of sizes are numbers and tensors of no dims, which export has as constants: not work either.
VIEWS = {"aten::" + n for n in ("alias chunk contiguous detach expand flatten narrow permute reshape select slice split squeeze t transpose unbind unflatten unsqueeze "
                                "view").split()}
LIMIT = 1.03


class First(nn.Module):
    """A network of transformers, with the first of its results."""

    def __init__(self, net, **options):
        super().__init__()
        self.net, self.options = net, options

    def forward(self, x):
        return self.net(x, return_dict=False, **self.options)[0]


def vision(name):
    def make():
        import torchvision
        return getattr(torchvision.models, name)(weights=None), (torch.randn(1, 3, 224, 224),)
    return make


def words(length=128, most=1000):
    return (torch.randint(0, most, (1, length)),)


def bert():
    from transformers import BertConfig, BertModel
    return First(BertModel(BertConfig(num_hidden_layers=4))), words()


def gpt2():
    from transformers import GPT2Config, GPT2Model
    return First(GPT2Model(GPT2Config(n_layer=4)), use_cache=False), words()


def distilbert():
    from transformers import DistilBertConfig, DistilBertModel
    return First(DistilBertModel(DistilBertConfig(n_layers=4))), words()


def llama():
    from transformers import LlamaConfig, LlamaModel
    return First(LlamaModel(LlamaConfig(vocab_size=1000, hidden_size=512, intermediate_size=1376, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4)),
                 use_cache=False), words()


def t5():
    from transformers import T5Config, T5EncoderModel
    return First(T5EncoderModel(T5Config(num_layers=4))), words()


NETWORKS = {n: vision(n) for n in ("resnet50", "mobilenet_v3_small", "densenet121", "swin_t", "vit_b_16", "convnext_tiny", "efficientnet_b0")}
NETWORKS.update(bert=bert, gpt2=gpt2, distilbert=distilbert, llama=llama, t5=t5)


def export(name, base):
    """Both archives and their arguments, where they are not there yet."""
    paths = base + ".pt", base + ".pt2", base + ".in.pt"
    if not all(map(os.path.exists, paths)):
        torch.manual_seed(0)
        net, args = NETWORKS[name]()
        net.eval()
        with torch.no_grad():
            torch.jit.trace(net, args, check_trace=False).save(paths[0])
            torch.export.save(torch.export.export(net, args), paths[1])
        torch.save(args, paths[2])
    return paths


def work(text):
    """What the graph does: a Counter of operators, and of fusion groups as tuples of theirs."""
    total, groups, calls, body = collections.Counter(), {}, [], None
    for line in text.splitlines():
        head = re.match(r"with (prim::\w+) = graph\(", line)
        if head:
            body = groups.setdefault(head.group(1), [])
        node = re.match(r"\s*(%.*) = (\w+::\w+)\S*?[\[(]", line)
        silent = node and (node.group(2) in VIEWS or (node.group(2).startswith("prim::") and "FusionGroup" not in node.group(2)))
        if not node or silent or not re.search(r" : \w+\(\d", node.group(1)):
            continue
        if body is not None:
            body.append(node.group(2))
        elif node.group(2).startswith("prim::FusionGroup"):
            calls.append(node.group(2))
        else:
            total[node.group(2)] += 1
    total.update(tuple(sorted(groups[c])) if len(groups[c]) > 1 else groups[c][0] for c in calls if groups[c])
    return total


def operators(counter):
    flat = collections.Counter()
    for k, n in counter.items():
        for x in [k] if isinstance(k, str) else k:
            flat[x] += n
    return flat


def ctsc(tool, *args):
    p = subprocess.run([tool] + list(args), capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError("exit %d: %s" % (p.returncode, p.stderr.strip()[:400]))
    return p.stdout


def times(tool, threads, inputs, *models):
    """The median of each, called in turns."""
    return [m["fused"]["median_us"] for m in json.loads(ctsc(tool, "bench", *models, "--inputs", inputs, "--opt", "2", "--threads", threads, "--json"))]


def shown(counter):
    return ", ".join("%d x %s" % (n, k if isinstance(k, str) else "group of " + " ".join(x.split("::")[1] for x in k)) for k, n in counter.items())


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--ctsc", default="build/ctsc")
    p.add_argument("-k", default="")
    p.add_argument("--folder")
    p.add_argument("--times", action="store_true")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--threads", default="1")
    o = p.parse_args()
    failed = 0
    torch.backends.mha.set_fastpath_enabled(False)  # which a trace would take, and export does not
    with tempfile.TemporaryDirectory() as folder:
        folder = o.folder or folder
        os.makedirs(folder, exist_ok=True)
        for name in NETWORKS:
            if o.k not in name:
                continue
            try:
                script, program, inputs = export(name, os.path.join(folder, name))
            except ImportError as e:
                print("%-20s left out: %s" % (name, e))
                continue
            a, b = (work(ctsc(o.ctsc, "graph-for", f, "--inputs", inputs, "--no-locations")) for f in (script, program))
            # what export has computed a part of is a smaller part here
            wrong = operators(b - a) - operators(a - b) or sum(b.values()) > sum(a.values())
            line = "%-20s %4d operators and groups%s%s" % (name, sum(b.values()), ("; only in .pt: " + shown(a - b)) if a - b else "",
                                                           ("; %s in .pt2: %s" % ("ONLY" if wrong else "only", shown(b - a))) if b - a else "")
            if o.times:
                ratios = []
                for _ in range(o.rounds):
                    t = times(o.ctsc, o.threads, inputs, script, program)
                    ratios.append(t[1] / t[0])
                best = min(ratios, key=lambda r: abs(r - 1))
                wrong = wrong or best > LIMIT
                line += "; %.2f ms, .pt2 %.3f times that%s" % (t[0] / 1e3, best, ": SLOWER" if best > LIMIT else "")
            failed += bool(wrong)
            print(line, flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
