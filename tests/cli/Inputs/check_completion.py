# SPDX-License-Identifier: Apache-2.0
"""check_completion.py CTSC BASH ZSH FISH - each option that a command's --help shows is in what completes that command."""
import re
import subprocess
import sys

ctsc = sys.argv[1]
bash, zsh, fish = (open(p, encoding="utf-8").read() for p in sys.argv[2:5])


def ask(*args):
    return subprocess.run([ctsc, *args], stdout=subprocess.PIPE, check=True, text=True).stdout


def case(script, command):
    return re.search(r"^    %s\)\n(.*?)(?=^    [a-z-]+\)\n|^    esac\n)" % command, script, re.S | re.M).group(1)


commands = re.findall(r"^  ([a-z][a-z-]*)", ask("--help").split("Options:")[0].split("Commands:")[1], re.M)
wrong = []
for c in commands:
    options = set(re.findall(r"^ {2,7}(?:-\S, *)?--([a-z][a-z-]*)", ask(c, "--help"), re.M))
    for name, text, form in (("bash", case(bash, c), r"(?<=[' ])--%s(?=[= '])"), ("zsh", case(zsh, c), r"'\*--%s(?==?\[)"),
                             ("fish", "\n".join(l for l in fish.splitlines() if "from %s'" % c in l), r" -l %s ")):
        wrong += ["%s: ctsc %s lacks --%s" % (name, c, o) for o in sorted(options) if not re.search(form % o, text)]
print("\n".join(wrong) or "all options of %d commands" % len(commands))
