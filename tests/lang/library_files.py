"""Files that module-level code reads, and configurations in YAML as PyYAML has them."""
import json
import os
from pathlib import Path

import yaml
from torch import nn

CONFIG = r"""# c
a: 1
b: [1, 2.5, -3e-4, 1e3, 1.0e+3, .5, "x, y", 'it''s', {k: v, n: null}, [], {}]
c:
  - x
  - - 1
    - 2
  - k: v
    l: [a,
        b]   # tail
  -
    z: ~
d: {e: true, f: off, g: "a\\tb"}
text: |
  one
    two

  three
fold: >-
  one
  two

  three
plain: some words here
  and more
base: &base {x: 1, y: 2}
der:
  <<: *base
  y: 3
url: http://x.y/z#frag
time: "12:30"
neg: -0x1F
oct: 010
s: 'True'
n: [[-1, 1, Conv, [32, 3, 1, None, 1, nn.LeakyReLU(0.1)]],
   [-1, 1, MP, []],]
e:
k-1: 0.33  # depth
"q": 1_000
list:
- a
- b: 1
  c: 2
last: end
"""

print(json.dumps(yaml.safe_load(CONFIG), sort_keys=True))
for text in ("", "[1, 2]", "- a\n-\n  - b\n- {}", "--- # start\na: b\n", "1.5", "a: [1, 2", "a: b\n  c: d", "a: !foo x", "a: *b", '{"a": "x\\u00e9\\n", b}', "- - 1\n  - 2\n-   x: 1\n    y: 2"):
    try:
        print(json.dumps(yaml.load(text, Loader=yaml.SafeLoader), sort_keys=True))
    except yaml.YAMLError:
        print("YAMLError")
with open(__file__) as f:
    print(f.readline().strip()[:20], f.read(7).strip(), len(f.readlines()) > 20)
here = os.path.dirname(os.path.abspath(__file__))
print(os.path.isfile(__file__), os.path.isdir(here), os.path.exists(os.path.join(here, "none")), Path(__file__).exists(), Path(__file__).read_text()[3:8], [line for line in open(__file__)][1][:4])
try:
    open("there/is/none.txt")
except FileNotFoundError as e:
    print(e)


class Main(nn.Module):
    def forward(self):
        return 0
# expect: {"a": 1, "b": [1, 2.5, "-3e-4", "1e3", 1000.0, 0.5, "x, y", "it's", {"k": "v", "n": null}, [], {}], "base": {"x": 1, "y": 2}, "c": ["x", [1, 2], {"k": "v", "l": ["a", "b"]}, {"z": null}], "d": {"e": true, "f": false, "g": "a\\tb"}, "der": {"x": 1, "y": 3}, "e": null, "fold": "one two\nthree", "k-1": 0.33, "last": "end", "list": ["a", {"b": 1, "c": 2}], "n": [[-1, 1, "Conv", [32, 3, 1, "None", 1, "nn.LeakyReLU(0.1)"]], [-1, 1, "MP", []]], "neg": -31, "oct": 8, "plain": "some words here and more", "q": 1000, "s": "True", "text": "one\n  two\n\nthree\n", "time": "12:30", "url": "http://x.y/z#frag"}
# expect: null
# expect: [1, 2]
# expect: ["a", ["b"], {}]
# expect: {"a": "b"}
# expect: 1.5
# expect: YAMLError
# expect: YAMLError
# expect: YAMLError
# expect: YAMLError
# expect: {"a": "x\u00e9\n", "b": null}
# expect: [[1, 2], {"x": 1, "y": 2}]
# expect: """Files that module import True
# expect: True True False True Files impo
# expect: [Errno 2] No such file or directory: 'there/is/none.txt'
# expect: 0
