# SPDX-License-Identifier: Apache-2.0
# yaml.py - what configurations need of YAML 1.1 as PyYAML reads it: mappings, sequences, both in braces, texts in quotes and in blocks,
# anchors; no tags. Reading by recursion on the lines left and their indentation.


class YAMLError(Exception):
    pass


class SafeLoader:
    pass


Loader = FullLoader = UnsafeLoader = CLoader = CSafeLoader = SafeLoader

_words = {'': None, '~': None, 'null': None, 'Null': None, 'NULL': None}
for _w, _v in (('true', True), ('yes', True), ('on', True), ('false', False), ('no', False), ('off', False)):
    _words[_w] = _words[_w.upper()] = _words[_w[0].upper() + _w[1:]] = _v
_escapes = {'n': '\n', 't': '\t', 'r': '\r', '0': '\0', 'a': '\a', 'b': '\b', 'e': '\x1b', 'f': '\f', 'v': '\v', '"': '"', '/': '/', '\\': '\\', ' ': ' ', '_': '\xa0'}
_digits = '0123456789'


def _all(s, allowed):
    return s != '' and not [c for c in s if c not in allowed]


def _number(s):
    """The number that the text is, or None."""
    sign = -1 if s[0] == '-' else 1
    body = s[1:] if s[0] in '+-' else s
    plain = body.replace('_', '')
    if _all(body[:1], _digits) and _all(plain, _digits):
        return sign * (int(plain, 8) if plain[0] == '0' and len(plain) > 1 and _all(plain, '01234567') else int(plain) if plain[0] != '0' or plain == '0' else 0) \
            if plain[0] != '0' or _all(plain, '01234567') else None
    for prefix, base, allowed in (('0x', 16, _digits + 'abcdefABCDEF'), ('0b', 2, '01')):
        if plain.startswith(prefix) and _all(plain[2:], allowed):
            return sign * int(plain[2:], base)
    if body.lower() in ('.inf', '.nan') and body[1:] in ('inf', 'Inf', 'INF', 'nan', 'NaN', 'NAN'):
        return sign * float(body[1:])
    # a float has a point, and its exponent a sign
    mantissa, e, exponent = plain.replace('E', 'e').partition('e')
    whole, point, rest = mantissa.partition('.')
    if point and (_all(whole, _digits) or whole == '' and _all(rest, _digits)) and (rest == '' or _all(rest, _digits)) and \
            (not e or exponent[:1] in ('+', '-') and _all(exponent[1:], _digits)):
        return sign * float(('0' if whole == '' else whole) + '.' + (rest if rest else '0') + (e + exponent if e else ''))
    return None


def _scalar(s):
    if s in _words:
        return _words[s]
    n = _number(s)
    return s if n is None else n


class _Reader:
    def __init__(self, text):
        self.lines, self.at, self.anchors = text.split('\n'), 0, {}

    def fail(self, what):
        raise YAMLError(what + ', line ' + str(self.at + 1))

    # ---- lines

    def skip(self):
        """To the next line with content: its indentation, -1 at the end."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            body = line.strip()
            if body == '...' or line.startswith('--- ') or body == '---':
                return -1
            if body and not body.startswith('#'):
                if line[:len(line) - len(line.lstrip())].find('\t') >= 0:
                    self.fail("found character '\\t' that cannot start any token")
                return len(line) - len(line.lstrip(' '))
            self.at += 1
        return -1

    def uncomment(self, s):
        """Without a comment at its end."""
        if '#' not in s:
            return s.rstrip()
        quote = ''
        for i, c in enumerate(s):
            if quote:
                quote = '' if c == quote and not (quote == '"' and s[i - 1] == '\\') else quote
            elif c in '"\'' and (i == 0 or s[i - 1] in ' [{,:'):
                quote = c
            elif c == '#' and (i == 0 or s[i - 1] in ' \t'):
                return s[:i].rstrip()
        return s.rstrip()

    def colon(self, s):
        """Where the key of a mapping ends; -1: it is none."""
        if s[:1] in '"\'' and s:
            end = self.quoted(s, 0)[1] if s.find(s[0], 1) > 0 else len(s)
            return end if s[end:end + 1] == ':' and s[end + 1:end + 2] in ('', ' ') else -1
        if s[:1] in ('[', '{', '#', '|', '>'):
            return -1
        i = s.find(':')
        while i >= 0 and s[i + 1:i + 2] not in ('', ' ', '\t'):
            i = s.find(':', i + 1)
        return i if s.find(' #') < 0 or i < s.find(' #') else -1

    # ---- values

    def block(self, least):
        indent = self.skip()
        if indent < least:
            return None
        s = self.lines[self.at][indent:]
        if s == '-' or s.startswith('- '):
            return self.sequence(indent)
        if s.startswith('? '):
            self.fail('complex keys are not supported here')
        return self.mapping(indent) if self.colon(s) >= 0 else self.inline(s, indent)

    def sequence(self, indent):
        items = []
        while self.skip() == indent and (self.lines[self.at][indent:] == '-' or self.lines[self.at].startswith('- ', indent)):
            rest = self.lines[self.at][indent + 1:]
            inner = indent + 1 + len(rest) - len(rest.lstrip(' '))
            rest = rest.strip()
            if self.uncomment(rest) == '':
                self.at += 1
                items.append(self.block(indent + 1))
            elif rest == '-' or rest.startswith('- ') or self.colon(rest) >= 0:
                self.lines[self.at] = ' ' * inner + rest
                items.append(self.block(inner))
            else:
                items.append(self.inline(rest, indent + 1))
        if self.skip() > indent:
            self.fail('bad indentation of an item')
        return items

    def mapping(self, indent):
        result, merged = {}, {}
        while self.skip() == indent:
            s = self.lines[self.at][indent:]
            i = self.colon(s)
            if i < 0:
                self.fail("could not find expected ':'")
            key = self.quoted(s, 0)[0] if s[0] in '"\'' else _scalar(s[:i].rstrip())
            rest = s[i + 1:].strip()
            anchor = ''
            if rest.startswith('&'):
                anchor, _, rest = rest[1:].partition(' ')
            if self.uncomment(rest) == '':
                self.at += 1
                j = self.skip()
                nested = j == indent and (self.lines[self.at][j:] == '-' or self.lines[self.at].startswith('- ', j))
                value = self.sequence(j) if nested else self.block(indent + 1)
            else:
                value = self.inline(rest, indent + 1)
            if anchor:
                self.anchors[anchor] = value
            if key == '<<':
                for m in value if isinstance(value, list) else [value]:
                    merged = {**m, **merged}
            else:
                result[key] = value
        if self.skip() > indent:
            self.fail('mapping values are not allowed here')
        return {**merged, **result}

    def inline(self, s, least):
        """A value that begins on this line; goes on to the line after it."""
        if s[0] in '|>':
            return self.text(s, least)
        if s[0] == '!':
            self.fail('tags are not supported here')
        if s[0] == '*':
            self.at += 1
            name = self.uncomment(s)[1:]
            if name not in self.anchors:
                self.fail('found undefined alias ' + name)
            return self.anchors[name]
        if s[0] in '[{"\'':
            pieces = [s if s[0] in '"\'' else self.uncomment(s)]
            depth, quote = self.open_at_end(pieces[0], 0, '')
            while depth > 0 or quote:
                self.at += 1
                if self.at >= len(self.lines):
                    self.fail('while scanning, found unexpected end of stream')
                line = self.lines[self.at].strip()
                pieces.append(line if quote else self.uncomment(line))
                depth, quote = self.open_at_end(pieces[-1], depth, quote)
            joined = ' '.join(pieces)
            value, end = self.flow(joined, 0)
            if self.uncomment(joined[end:].strip()) != '':
                self.fail('found unexpected text after a value')
            self.at += 1
            return value
        joined = self.uncomment(s)
        self.at += 1
        while joined == s.rstrip() and self.skip() >= least and self.colon(self.lines[self.at].strip()) < 0:
            joined = joined + ' ' + self.uncomment(self.lines[self.at].strip())
            self.at += 1
        return _scalar(joined)

    def text(self, s, least):
        head, lines = self.uncomment(s), []
        self.at += 1
        indent = None
        while self.at < len(self.lines):
            line = self.lines[self.at]
            deep = len(line) - len(line.lstrip(' '))
            if line.strip() and deep < least:
                break
            if indent is None and line.strip():
                indent = deep
            lines.append(line[indent:] if indent is not None else '')
            self.at += 1
        end = ''
        while lines and lines[-1].strip() == '':
            end = end + '\n'
            lines.pop()
        if head[0] == '|':
            text = '\n'.join(lines)
        else:
            text = ''
            for i, line in enumerate(lines):
                text = text + ('' if i == 0 else '\n' if line == '' else '' if lines[i - 1] == '' else ' ') + line
        return text if '-' in head or not lines else text + '\n' + (end if '+' in head else '')

    def open_at_end(self, s, depth, quote):
        """How many brackets are open after s, and in which quotes it ends, if before it these were."""
        if not quote and '"' not in s and "'" not in s:
            return depth + s.count('[') + s.count('{') - s.count(']') - s.count('}'), ''
        i = 0
        while i < len(s):
            c = s[i]
            if quote == '"' and c == '\\':
                i += 1
            elif quote:
                quote = '' if c == quote else quote
            elif c in '"\'' and (i == 0 or s[i - 1] in ' [{,:'):
                quote = c
            elif c in '[{':
                depth += 1
            elif c in ']}':
                depth -= 1
            i += 1
        return depth, quote

    def quoted(self, s, i):
        quote, text, i = s[i], '', i + 1
        while True:
            end = s.find(quote, i)
            escape = s.find('\\', i, end) if quote == '"' and end >= 0 else -1
            if end < 0:
                self.fail('found unexpected end of a quoted text')
            if escape >= 0:
                c = s[escape + 1]
                n = {'x': 2, 'u': 4, 'U': 8}.get(c, 0)
                if not n and c not in _escapes:
                    self.fail('found unknown escape character')
                text += s[i:escape] + (chr(int(s[escape + 2:escape + 2 + n], 16)) if n else _escapes[c])
                i = escape + 2 + n
            elif quote == "'" and s[end + 1:end + 2] == "'":
                text, i = text + s[i:end + 1], end + 2
            else:
                return text + s[i:end], end + 1

    def flow(self, s, i):
        while s[i:i + 1] == ' ':
            i += 1
        c = s[i:i + 1]
        if c in ('"', "'"):
            return self.quoted(s, i)
        if c in ('[', '{'):
            return self.brackets(s, i + 1, c == '{')
        end = len(s)
        for stop in (',', ']', '}', ': ', ':,', ':]', ':}'):
            j = s.find(stop, i, end)
            end = j if j >= 0 else end
        if s[i:end].endswith(':'):
            end -= 1
        text = s[i:end].strip()
        if text.startswith('*') and text[1:] in self.anchors:
            return self.anchors[text[1:]], end
        if text[:1] in ('!', '&', '*'):
            self.fail('tags and anchors are not supported here')
        return _scalar(text), end

    def brackets(self, s, i, is_map):
        items, result = [], {}
        while True:
            while s[i:i + 1] == ' ':
                i += 1
            if s[i:i + 1] == ('}' if is_map else ']'):
                return (result if is_map else items), i + 1
            value, i = self.flow(s, i)
            while s[i:i + 1] == ' ':
                i += 1
            pair = s[i:i + 1] == ':'
            if pair:
                key = value
                value, i = self.flow(s, i + 1)
            if is_map:
                if not pair:
                    key, value = value, None
                result[key] = value
            else:
                items.append({key: value} if pair else value)
            while s[i:i + 1] == ' ':
                i += 1
            if s[i:i + 1] == ',':
                i += 1
            elif s[i:i + 1] not in (']', '}'):
                self.fail("expected ',' or the closing bracket")


def safe_load(stream):
    r = _Reader(stream if isinstance(stream, str) else stream.read())
    while r.at < len(r.lines) and (r.lines[r.at].startswith('%') or not r.lines[r.at].strip() or r.lines[r.at].strip().startswith('#')):
        r.at += 1
    if r.at < len(r.lines) and r.lines[r.at].startswith('---'):
        r.lines[r.at] = r.lines[r.at][3:]
    value = r.block(0)
    if r.skip() >= 0:
        r.fail('expected the end of the document')
    return value


def load(stream, Loader=SafeLoader):
    return safe_load(stream)


full_load = unsafe_load = safe_load
