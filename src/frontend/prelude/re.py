# SPDX-License-Identifier: Apache-2.0
# re.py - Python's regular expressions, by backtracking: what configuration code does with names of layers.
#
# A pattern becomes a list of nodes, each a tuple whose first item says what it is:
#   ('set', negated, items)   one character; items are characters, (from, to) pairs and class letters 'w', 'd', 's', 'W', 'D', 'S' as ('\\', letter)
#   ('any',)  ('start',)  ('end',)  ('border', wanted)
#   ('group', index or None, branches)  ('look', ahead, negated, branches)  ('back', index)
#   ('repeat', node, least, most or None, greedy)
# A match is found by continuations: _run(nodes, k, i, groups, after) calls after(i, groups) where the nodes from k on have matched.
I = IGNORECASE = 2
M = MULTILINE = 8
S = DOTALL = 16
X = VERBOSE = 64
U = UNICODE = 32
A = ASCII = 256


class error(Exception):
    pass


_WORD = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_'
_ESCAPES = {'n': '\n', 't': '\t', 'r': '\r', 'f': '\f', 'v': '\v', 'a': '\a', '0': '\0'}


class _Parser:
    def __init__(self, text):
        self.text = text
        self.at = 0
        self.groups = 0
        self.names = {}

    def more(self):
        return self.at < len(self.text)

    def peek(self):
        return self.text[self.at] if self.at < len(self.text) else ''

    def take(self, what):
        if self.text.startswith(what, self.at):
            self.at += len(what)
            return True
        return False

    def branches(self):
        result = [self.sequence()]
        while self.take('|'):
            result.append(self.sequence())
        return result

    def sequence(self):
        nodes = []
        while self.more() and self.peek() not in '|)':
            node = self.atom()
            if node is None:
                continue
            nodes.append(self.repeated(node))
        return nodes

    def number(self):
        begin = self.at
        while self.more() and self.peek().isdigit():
            self.at += 1
        return int(self.text[begin:self.at]) if self.at > begin else None

    def repeated(self, node):
        while self.more():
            begin = self.at
            if self.take('*'):
                least, most = 0, None
            elif self.take('+'):
                least, most = 1, None
            elif self.take('?'):
                least, most = 0, 1
            elif self.take('{'):
                least = self.number()
                most = least
                if self.take(','):
                    most = self.number()
                    least = 0 if least is None else least
                if least is None or not self.take('}'):
                    self.at = begin
                    return node
            else:
                return node
            node = ('repeat', node, least, most, not self.take('?'))
        return node

    def atom(self):
        c = self.peek()
        self.at += 1
        if c == '.':
            return ('any',)
        if c == '^':
            return ('start',)
        if c == '$':
            return ('end',)
        if c == '[':
            return self.charset()
        if c == '(':
            return self.group()
        if c == '\\':
            return self.escape()
        if c in '*+?':
            raise error('nothing to repeat at position ' + str(self.at - 1))
        return ('set', False, [c])

    def escape(self):
        c = self.peek()
        self.at += 1
        if c == '':
            raise error('bad escape (end of pattern)')
        if c in 'wdsWDS':
            return ('set', False, [('\\', c)])
        if c in 'bB':
            return ('border', c == 'b')
        if c == 'A':
            return ('begin',)
        if c == 'Z':
            return ('finish',)
        if c in '123456789':
            return ('back', int(c))
        if c in 'xuU':
            return ('set', False, [self.code(c)])
        if c.isalpha() and c not in _ESCAPES:
            raise error('bad escape \\' + c)
        return ('set', False, [_ESCAPES.get(c, c)])

    def code(self, c):
        n = {'x': 2, 'u': 4, 'U': 8}[c]
        self.at += n
        return chr(int(self.text[self.at - n:self.at], 16))

    def charset(self):
        negated = self.take('^')
        items = []
        first = True
        while first or self.peek() != ']':
            first = False
            if not self.more():
                raise error('unterminated character set')
            c = self.peek()
            self.at += 1
            if c == '\\':
                e = self.peek()
                self.at += 1
                if e in 'wdsWDS':
                    items.append(('\\', e))
                    continue
                c = self.code(e) if e in 'xuU' else _ESCAPES.get(e, e)
            if self.peek() == '-' and self.at + 1 < len(self.text) and self.text[self.at + 1] != ']':
                self.at += 1
                high = self.peek()
                self.at += 1
                if high == '\\':
                    high = self.peek()
                    self.at += 1
                    high = self.code(high) if high in 'xuU' else _ESCAPES.get(high, high)
                items.append((c, high))
            else:
                items.append(c)
        self.at += 1
        return ('set', negated, items)

    def close(self):
        if not self.take(')'):
            raise error('missing ), unterminated subpattern')

    def group(self):
        index = None
        if self.take('?:'):
            pass
        elif self.take('?P<'):
            end = self.text.find('>', self.at)
            self.groups += 1
            index = self.groups
            self.names[self.text[self.at:end]] = index
            self.at = end + 1
        elif self.take('?P='):
            end = self.text.find(')', self.at)
            name = self.text[self.at:end]
            self.at = end + 1
            return ('back', self.names[name])
        elif self.take('?='):
            return self.look(True, False)
        elif self.take('?!'):
            return self.look(True, True)
        elif self.take('?<=') or self.take('?<!'):
            negated = self.text[self.at - 1] == '!'
            return self.look(False, negated)
        elif self.take('?#'):
            self.at = self.text.find(')', self.at) + 1
            return None
        elif self.take('?a:') or self.take('?u:'):
            pass
        elif self.take('?'):
            raise NotImplementedError('re: this form of group is not supported while a program is being compiled')
        else:
            self.groups += 1
            index = self.groups
        branches = self.branches()
        self.close()
        return ('group', index, branches)

    def look(self, ahead, negated):
        branches = self.branches()
        self.close()
        return ('look', ahead, negated, branches)


def _of_class(c, letter):
    low = letter.lower()
    if low == 'w':
        found = c in _WORD or c.isalnum()
    elif low == 'd':
        found = c.isdigit()
    else:
        found = c in ' \t\n\r\f\v'
    return found == (letter == low)


def _in_set(c, items):
    for item in items:
        if isinstance(item, str):
            if c == item:
                return True
        elif item[0] == '\\' and len(item[1]) == 1 and item[1] in 'wdsWDS':
            if _of_class(c, item[1]):
                return True
        elif item[0] <= c <= item[1]:
            return True
    return False


def _captures(branches):
    return any(n[0] == 'back' or (n[0] == 'group' and (n[1] is not None or _captures(n[2]))) or
               (n[0] == 'repeat' and _captures([[n[1]]])) or (n[0] == 'look' and _captures(n[3])) for b in branches for n in b)


def _width(node):
    """How many characters a node takes that matches in one way only, without groups; 0: it is no such node."""
    if node[0] == 'set' or node[0] == 'any':
        return 1
    if node[0] != 'group' or node[1] is not None or len(node[2]) != 1 or _captures(node[2]):
        return 0
    if any(n[0] == 'group' or n[0] == 'repeat' for n in node[2][0]):
        return 0
    return sum(n[0] == 'set' or n[0] == 'any' for n in node[2][0])


def _beginning(nodes):
    """The characters that every match begins with; None: it begins a line."""
    text = ''
    for n in nodes:
        if n[0] == 'start':
            return None if text == '' else text
        if n[0] == 'group' and len(n[2]) == 1 and text == '':
            return _beginning(n[2][0])
        if n[0] != 'set' or n[1] or len(n[2]) != 1 or not isinstance(n[2][0], str):
            break
        text += n[2][0]
    return text


class _Machine:
    def __init__(self, text, flags):
        self.text = text
        self.end = len(text)
        self.fold = bool(flags & I)
        self.lines = bool(flags & M)
        self.all = bool(flags & S)

    def one(self, node, i):
        """Does the node, one for a single character, match there?"""
        if i >= self.end:
            return False
        c = self.text[i]
        if node[0] == 'any':
            return self.all or c != '\n'
        found = _in_set(c, node[2]) or (self.fold and (_in_set(c.lower(), node[2]) or _in_set(c.upper(), node[2])))
        return found != node[1]

    def once(self, node, i):
        """Does the node, one of a width, match there?"""
        return self.run(node[2][0], 0, i, {}, lambda j, g: True) is not None if node[0] == 'group' else self.one(node, i)

    def word(self, i):
        return 0 <= i < self.end and _of_class(self.text[i], 'w')

    def alternatives(self, branches, i, groups, after):
        for branch in branches:
            found = self.run(branch, 0, i, groups, after)
            if found is not None:
                return found
        return None

    def run(self, nodes, k, i, groups, after):
        while k < len(nodes):
            node = nodes[k]
            kind = node[0]
            if kind == 'set' or kind == 'any':
                if not self.one(node, i):
                    return None
                i += 1
            elif kind == 'repeat':
                return self.repeat(nodes, k, i, groups, after)
            elif kind == 'group':
                def leave(j, inner):
                    if node[1] is not None:
                        inner = dict(inner)
                        inner[node[1]] = (i, j)
                    return self.run(nodes, k + 1, j, inner, after)
                return self.alternatives(node[2], i, groups, leave)
            elif kind == 'look':
                found = None
                if node[1]:
                    found = self.alternatives(node[3], i, groups, lambda j, g: (j, g))
                else:
                    for begin in range(i, -1, -1):
                        found = self.alternatives(node[3], begin, groups, lambda j, g: (j, g) if j == i else None)
                        if found is not None:
                            break
                if (found is not None) == node[2]:
                    return None
                if found is not None:
                    groups = found[1]
            elif kind == 'back':
                if node[1] not in groups:
                    return None
                span = groups[node[1]]
                part = self.text[span[0]:span[1]]
                if not self.text.startswith(part, i):
                    return None
                i += len(part)
            elif not self.stands(node, i):
                return None
            k += 1
        return after(i, groups)

    def stands(self, node, i):
        kind = node[0]
        if kind == 'start':
            return i == 0 or (self.lines and self.text[i - 1] == '\n')
        if kind == 'end':
            return i == self.end or (i == self.end - 1 and self.text[i] == '\n') or (self.lines and self.text[i] == '\n')
        if kind == 'begin':
            return i == 0
        if kind == 'finish':
            return i == self.end
        return (self.word(i - 1) != self.word(i)) == node[1]

    def repeat(self, nodes, k, i, groups, after):
        node, inner, least, most, greedy = nodes[k], nodes[k][1], nodes[k][2], nodes[k][3], nodes[k][4]
        width = _width(inner)
        if width:
            n = 0
            if greedy:
                while (most is None or n < most) and self.once(inner, i + n * width):
                    n += 1
                while n >= least:
                    found = self.run(nodes, k + 1, i + n * width, groups, after)
                    if found is not None:
                        return found
                    n -= 1
                return None
            while True:
                if n >= least:
                    found = self.run(nodes, k + 1, i + n * width, groups, after)
                    if found is not None:
                        return found
                if (most is not None and n >= most) or not self.once(inner, i + n * width):
                    return None
                n += 1

        def rounds(j, g, n, before):
            go_on = most is None or n < most
            def again():
                if not go_on or (n >= least and j == before):
                    return None
                return self.run([inner], 0, j, g, lambda e, h: rounds(e, h, n + 1, j))
            def leave():
                return self.run(nodes, k + 1, j, g, after) if n >= least else None
            if greedy:
                found = again()
                return leave() if found is None else found
            found = leave()
            return again() if found is None else found
        return rounds(i, groups, 0, -1)


class Match:
    def __init__(self, pattern, string, begin, end, groups):
        self.re = pattern
        self.string = string
        self.pos = 0
        self._begin = begin
        self._end = end
        self._groups = groups
        self.lastindex = max(groups) if groups else None

    def span(self, group=0):
        index = self.re.groupindex[group] if isinstance(group, str) else group
        if index == 0:
            return (self._begin, self._end)
        if index < 0 or index > self.re.groups:
            raise IndexError('no such group')
        return self._groups.get(index, (-1, -1))

    def start(self, group=0):
        return self.span(group)[0]

    def end(self, group=0):
        return self.span(group)[1]

    def _group(self, index, default=None):
        span = self.span(index)
        return default if span[0] < 0 else self.string[span[0]:span[1]]

    def group(self, *indices):
        if len(indices) == 0:
            return self._group(0)
        if len(indices) == 1:
            return self._group(indices[0])
        return tuple(self._group(i) for i in indices)

    def groups(self, default=None):
        return tuple(self._group(i, default) for i in range(1, self.re.groups + 1))

    def groupdict(self, default=None):
        return {name: self._group(index, default) for name, index in self.re.groupindex.items()}

    def __getitem__(self, index):
        return self._group(index)

    def expand(self, template):
        return _expand(template, self)


def _expand(template, match):
    if '\\' not in template:
        return template
    out = ''
    i = 0
    while i < len(template):
        c = template[i]
        i += 1
        if c != '\\' or i == len(template):
            out += c
            continue
        c = template[i]
        i += 1
        if c == 'g' and template[i:i + 1] == '<':
            end = template.find('>', i)
            name = template[i + 1:end]
            i = end + 1
            out += match._group(int(name) if name.isdigit() else name, '')
        elif c in '123456789':
            number = c
            if i < len(template) and template[i].isdigit():
                number += template[i]
                i += 1
            out += match._group(int(number), '')
        else:
            out += _ESCAPES.get(c, c)
    return out


def _compact(pattern):
    """A pattern of re.VERBOSE without its comments and gaps."""
    out = ''
    i = 0
    in_set = False
    while i < len(pattern):
        c = pattern[i]
        if c == '\\':
            c = pattern[i:i + 2]
        elif in_set:
            in_set = c != ']' or out[-1] == '[' or out[-2:] == '[^'
        elif c == '[':
            in_set = True
        elif c == '#':
            while i < len(pattern) and pattern[i] != '\n':
                i += 1
            c = ''
        elif c.isspace():
            c = ''
        out += c
        i += max(len(c), 1)
    return out


class Pattern:
    def __init__(self, pattern, flags=0):
        for prefix, flag in (('(?i)', I), ('(?m)', M), ('(?s)', S), ('(?x)', X)):
            if pattern.startswith(prefix):
                flags |= flag
                pattern = pattern[len(prefix):]
        parser = _Parser(_compact(pattern) if flags & X else pattern)
        self.pattern = pattern
        self.flags = flags
        self._branches = parser.branches()
        if parser.more():
            raise error('unbalanced parenthesis at position ' + str(parser.at))
        self._first = _beginning(self._branches[0]) if len(self._branches) == 1 and not flags & I else ''
        self.groups = parser.groups
        self.groupindex = parser.names

    def _at(self, machine, i, whole):
        found = machine.alternatives(self._branches, i, {}, lambda j, g: (j, g) if not whole or j == machine.end else None)
        return None if found is None else Match(self, machine.text, i, found[0], found[1])

    def match(self, string, pos=0):
        return self._at(_Machine(string, self.flags), pos, False)

    def fullmatch(self, string, pos=0):
        return self._at(_Machine(string, self.flags), pos, True)

    def search(self, string, pos=0):
        machine = _Machine(string, self.flags)
        i = pos
        while i <= machine.end:
            found = self._at(machine, i, False)
            if found is not None:
                return found
            i += 1
            if self._first is None:
                i = string.find('\n', i - 1) + 1 if self.flags & M else 0
            elif self._first != '':
                i = string.find(self._first, i)
            if i <= 0:
                break
        return None

    def finditer(self, string, pos=0):
        found = []
        i = pos
        while i <= len(string):
            m = self.search(string, i)
            if m is None:
                break
            found.append(m)
            i = m.end() if m.end() > m.start() else m.end() + 1
        return found

    def findall(self, string, pos=0):
        result = []
        for m in self.finditer(string, pos):
            if self.groups == 0:
                result.append(m.group())
            elif self.groups == 1:
                result.append(m._group(1, ''))
            else:
                result.append(m.groups(''))
        return result

    def subn(self, repl, string, count=0):
        out = ''
        at = 0
        n = 0
        for m in self.finditer(string):
            if count and n == count:
                break
            out += string[at:m.start()] + (repl(m) if callable(repl) else _expand(repl, m))
            at = m.end()
            n += 1
        return out + string[at:], n

    def sub(self, repl, string, count=0):
        return self.subn(repl, string, count)[0]

    def split(self, string, maxsplit=0):
        parts = []
        at = 0
        for m in self.finditer(string):
            if maxsplit and len(parts) >= maxsplit:
                break
            parts.append(string[at:m.start()])
            parts.extend(m.groups())
            at = m.end()
        parts.append(string[at:])
        return parts


_compiled = {}


def compile(pattern, flags=0):
    if isinstance(pattern, Pattern):
        return pattern
    key = (pattern, flags)
    if key not in _compiled:
        _compiled[key] = Pattern(pattern, flags)
    return _compiled[key]


def match(pattern, string, flags=0):
    return compile(pattern, flags).match(string)


def fullmatch(pattern, string, flags=0):
    return compile(pattern, flags).fullmatch(string)


def search(pattern, string, flags=0):
    return compile(pattern, flags).search(string)


def findall(pattern, string, flags=0):
    return compile(pattern, flags).findall(string)


def finditer(pattern, string, flags=0):
    return compile(pattern, flags).finditer(string)


def sub(pattern, repl, string, count=0, flags=0):
    return compile(pattern, flags).sub(repl, string, count)


def subn(pattern, repl, string, count=0, flags=0):
    return compile(pattern, flags).subn(repl, string, count)


def split(pattern, string, maxsplit=0, flags=0):
    return compile(pattern, flags).split(string, maxsplit)


def escape(pattern):
    return ''.join(c if c in _WORD else '\\' + c for c in pattern)
