# SPDX-License-Identifier: Apache-2.0
# fnmatch.py - file name patterns: *, ?, [seq], [!seq].


def _match(name, pattern):
    if pattern == '':
        return name == ''
    c = pattern[0]
    if c == '*':
        rest = pattern.lstrip('*')
        if rest == '':
            return True
        return any(_match(name[i:], rest) for i in range(len(name) + 1))
    if name == '':
        return False
    if c == '[':
        end = pattern.find(']', 3 if pattern[1:2] == '!' else 2)
        if end > 0:
            body = pattern[1:end]
            negated = body[0] == '!'
            if negated:
                body = body[1:]
            found = False
            i = 0
            while i < len(body):
                if i + 2 < len(body) and body[i + 1] == '-':
                    found = found or body[i] <= name[0] <= body[i + 2]
                    i += 3
                else:
                    found = found or body[i] == name[0]
                    i += 1
            return found != negated and _match(name[1:], pattern[end + 1:])
    return (c == '?' or c == name[0]) and _match(name[1:], pattern[1:])


def fnmatchcase(name, pat):
    return _match(name, pat)


def fnmatch(name, pat):
    return _match(name, pat)


def filter(names, pat):
    return [n for n in names if _match(n, pat)]
