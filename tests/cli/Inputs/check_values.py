# SPDX-License-Identifier: Apache-2.0
"""check_values.py CTSC - the values that completion knows are those that --help names, and those of --help are all known."""
import re
import subprocess
import sys


def ask(*args):
    return subprocess.run([sys.argv[1], *args], stdout=subprocess.PIPE, check=True, text=True).stdout


bash, wrong = ask("completion", "bash"), []
for command, option in (("train", "optimizer"), ("train", "loss"), ("quantize", "method"), ("quantize", "observer"), ("run", "quantized-engine")):
    case = re.search(r"^    %s\)\n(.*?)(?=^    [a-z-]+\)\n|^    esac\n)" % command, bash, re.S | re.M).group(1)
    known = re.search(r"--%s(?:\|-\w)?\) _ctsc_words '([^']*)'" % option, case).group(1).split()
    text = re.sub(r"\s+", " ", re.search(r"--%s=\w+(.*?)(?=\n +(?:-\w, )?--|\n\n)" % option, ask(command, "--help"), re.S).group(1))
    wrong += ["%s --%s: %s is not in its --help" % (command, option, v) for v in known if not re.search(r"\b%s\b" % re.escape(v), text)]
    named = [w for w in re.findall(r"(?:^| )([a-z][a-z0-9_]+)(?: \([^)]*\))?(?=,|;|$)", text) if w not in ("loss", "fitting", "all")]
    wrong += ["%s --%s: %s is not completed" % (command, option, v) for v in named if option == "optimizer" and v not in known]
print("\n".join(wrong) or "values agree")
