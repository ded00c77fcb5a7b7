# SPDX-License-Identifier: Apache-2.0
"""cases.py - what tests that compare with PyTorch share: the reader of a case, of what ctsc reports, of lists of differences.

A list of differences (differs.txt, beside the cases) is data: "@ KIND COUNT" heads the rows of a kind, a row is the case's key, a tab, and why
it differs. The count says at a glance, and in every change of the file, how many there are. A case that is listed has to differ and all others must not:
Differences.check says so, Differences.missing which rows no case asked for. tests/unit/differs.h reads the same form.
"""
import json
import os
import re


def read_case(folder):
    """A case.json. "raises" is null or PyTorch's message, whole: an empty one would agree with anything."""
    with open(os.path.join(folder, "case.json"), encoding="utf-8") as f:
        case = json.load(f)
    if case["raises"] is not None and not case["raises"].strip():
        raise ValueError("%s: \"raises\" says nothing" % folder)
    return case


def reports(err):
    """(message, what follows it) of each error that ctsc reports."""
    found = [report.partition("\n -->") for report in re.split(r"^error: ", err, flags=re.M)[1:]]
    return [(message.strip("\n"), place) for message, _, place in found]


def raised(err):
    """The message that a run ended with."""
    found = reports(err)
    return found[-1][0] if found else None


class Differences:
    def __init__(self, path):
        self.path, self.rows, self.seen = path, {}, set()
        counts, kind = {}, None
        with open(path, encoding="utf-8") as f:
            for n, line in enumerate(f, 1):
                line = line.rstrip("\n")
                head = re.fullmatch(r"@ (\w[\w-]*) (\d+)", line)
                key, _, reason = line.partition("\t")
                if head:
                    kind = head.group(1)
                    if kind in counts:
                        raise ValueError("%s:%d: %s is there already" % (path, n, kind))
                    counts[kind] = int(head.group(2))
                elif line and not line.startswith("#"):
                    if not key or not reason.strip() or kind is None or (kind, key) in self.rows:
                        raise ValueError("%s:%d: not KEY, tab, REASON of a case that has none yet" % (path, n))
                    self.rows[kind, key] = reason
        self.kinds = list(counts)
        for kind, count in counts.items():
            rows = sum(k == kind for k, _ in self.rows)
            if rows != count:
                raise ValueError("%s: %d rows of kind %s, not %d" % (path, rows, kind, count))

    def check(self, kind, key, differs):
        """Whether it was to be expected; why not."""
        self.seen.add((kind, key))
        if ((kind, key) in self.rows) == differs:
            return True, ""
        return False, "%s: %s %s" % (os.path.basename(self.path), key,
                                     "is not listed as differing (%s)" % kind if differs else "agrees, but is listed: %s" % self.rows[kind, key])

    def missing(self, kind):
        return sorted(key for k, key in self.rows if k == kind and (k, key) not in self.seen)
