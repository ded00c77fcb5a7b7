# SPDX-License-Identifier: Apache-2.0
"""check_man.py CTSC PAGE - every command and every option that --help shows is in the manual page, in the right section; and nothing else is."""
import re
import subprocess
import sys

ctsc, page = sys.argv[1], open(sys.argv[2], encoding="utf-8").read()
page = re.sub(r"\\f.", "", page.replace("\\-", "-"))


def section(title, level):
    m = re.search(r"^\.%s %s\n(.*?)(?=^\.S[HS] |\Z)" % (level, title), page, re.S | re.M)
    return m.group(1) if m else None


def named(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def shown(text):
    heads = [line.lstrip().split("  ")[0] for line in text.splitlines() if re.match(r" {2,7}(-\S, *)?--", line)]
    return {o for head in heads for o in re.findall(r"(?:^|, )(?:-\S, *)?(--[a-z][a-z-]*)", head)}


def ask(*args):
    return subprocess.run([ctsc, *args], stdout=subprocess.PIPE, check=True, text=True).stdout


wrong = []
top = ask("--help")
wrong += ["OPTIONS lacks %s" % o for o in sorted(shown(top) - named(section("OPTIONS", "SH")))]
for code, text in re.findall(r"^  (\d+) +(\S.*)$", top.split("Exit codes:")[1], re.M):
    if not re.search(r"^\.B %s$" % code, section("EXIT STATUS", "SH"), re.M):
        wrong.append("EXIT STATUS lacks %s, %s" % (code, text))
commands = re.findall(r"^  ([a-z][a-z-]*)", top.split("Options:")[0].split("Commands:")[1], re.M)
shared = {"source": section("SOURCE OPTIONS", "SH"), "call": section("CALL OPTIONS", "SH"), "limit": section("LIMIT OPTIONS", "SH")}
for command in commands:
    text = section("ctsc %s(?: [^\n]*)?" % command, "SS")
    if text is None:
        wrong.append("no section for ctsc %s" % command)
        continue
    have = named(text) | {"--help", "--usage"}
    apply = re.search(r"^(\w+)(?:, (\w+))?(?: and (\w+))? options apply", text, re.M | re.I)
    for word in apply.groups() if apply else ():
        if word:
            have |= named(shared[word.lower()])
    options = shown(ask(command, "--help"))
    wrong += ["ctsc %s: %s is missing" % (command, o) for o in sorted(options - have)]
    wrong += ["ctsc %s: %s does not exist" % (command, o) for o in sorted(have - options)]
for title in re.findall(r"^\.SS ctsc (\S+)", page, re.M):
    if title not in commands:
        wrong.append("ctsc %s does not exist" % title)
print("\n".join(wrong) or "the manual page has all of %d commands" % len(commands))
