# SPDX-License-Identifier: Apache-2.0
# json.py - texts of objects, and objects of texts.
_NAMES = {None: 'null', True: 'true', False: 'false'}
_ESCAPES = {'"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\b': '\\b', '\f': '\\f'}


def _text(s):
    return '"' + ''.join(_ESCAPES.get(c, c if ' ' <= c <= '~' else '\\u%04x' % ord(c)) for c in s) + '"'


def _dump(o, indent, at, comma, colon, sort_keys, default):
    if o is None or isinstance(o, bool):
        return _NAMES[o]
    if isinstance(o, str):
        return _text(o)
    if isinstance(o, (int, float)):
        return {'inf': 'Infinity', '-inf': '-Infinity', 'nan': 'NaN'}.get(repr(o), repr(o))

    def inner(v):
        return _dump(v, indent, at + 1, comma, colon, sort_keys, default)

    if isinstance(o, dict):
        items = sorted(o.items()) if sort_keys else o.items()
        parts = [_text(k if isinstance(k, str) else inner(k)) + colon + inner(v) for k, v in items]
        marks = '{}'
    elif isinstance(o, (list, tuple)):
        parts = [inner(v) for v in o]
        marks = '[]'
    elif default is None:
        raise TypeError('Object of type ' + type(o).__name__ + ' is not JSON serializable')
    else:
        return inner(default(o))
    if indent is None or not parts:
        return marks[0] + comma.join(parts) + marks[1]
    gap = '\n' + ' ' * indent * at
    return marks[0] + (comma.rstrip(' ') + gap + ' ' * indent).join([gap + ' ' * indent + parts[0]] + parts[1:]) + gap + marks[1]


def dumps(obj, *, indent=None, separators=(', ', ': '), sort_keys=False, default=None, ensure_ascii=True, **kwargs):
    return _dump(obj, indent, 0, separators[0], separators[1], sort_keys, default)


class JSONDecodeError(ValueError):
    pass


_LITERALS = {'null': None, 'true': True, 'false': False, 'NaN': float('nan'), 'Infinity': float('inf'), '-Infinity': float('-inf')}
_UNESCAPED = {'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}


def _fail(what, s, at):
    line = s[:at].count('\n') + 1
    raise JSONDecodeError('{}: line {} column {} (char {})'.format(what, line, at - s.rfind('\n', 0, at), at))


def _skip(s, at):
    while at < len(s) and s[at] in ' \t\n\r':
        at += 1
    return at


def _read_text(s, at):
    parts = []
    start = at
    at += 1
    while True:
        quote = s.find('"', at)
        slash = s.find('\\', at)
        if quote < 0:
            _fail('Unterminated string starting at', s, start)
        if slash < 0 or quote < slash:
            parts.append(s[at:quote])
            return ''.join(parts), quote + 1
        parts.append(s[at:slash])
        c = s[slash + 1:slash + 2]
        if c == 'u':
            code = int(s[slash + 2:slash + 6], 16)
            at = slash + 6
            if 0xd800 <= code < 0xdc00 and s[at:at + 2] == '\\u':
                code = 0x10000 + ((code - 0xd800) << 10) + int(s[at + 2:at + 6], 16) - 0xdc00
                at += 6
            parts.append(chr(code))
            continue
        if c not in _UNESCAPED:
            _fail('Invalid \\escape', s, slash)
        parts.append(_UNESCAPED[c])
        at = slash + 2


def _read_items(s, at, close, read):
    at = _skip(s, at + 1)
    if s[at:at + 1] == close:
        return at + 1
    while True:
        at = _skip(s, read(at))
        c = s[at:at + 1]
        if c == close:
            return at + 1
        if c != ',':
            _fail("Expecting ',' delimiter", s, at)
        at = _skip(s, at + 1)


def _read(s, at):
    at = _skip(s, at)
    c = s[at:at + 1]
    if c == '"':
        return _read_text(s, at)
    if c == '[':
        items = []

        def item(k):
            value, k = _read(s, k)
            items.append(value)
            return k

        return items, _read_items(s, at, ']', item)
    if c == '{':
        pairs = {}

        def pair(k):
            if s[k:k + 1] != '"':
                _fail('Expecting property name enclosed in double quotes', s, k)
            key, k = _read_text(s, k)
            k = _skip(s, k)
            if s[k:k + 1] != ':':
                _fail("Expecting ':' delimiter", s, k)
            pairs[key], k = _read(s, k + 1)
            return k

        return pairs, _read_items(s, at, '}', pair)
    for word in _LITERALS:
        if s.startswith(word, at):
            return _LITERALS[word], at + len(word)
    end = at
    while end < len(s) and s[end] in '+-0123456789.eE':
        end += 1
    number = s[at:end]
    if not number or not number.lstrip('-')[:1].isdigit():
        _fail('Expecting value', s, at)
    return (float(number) if '.' in number or 'e' in number or 'E' in number else int(number)), end


def loads(s, **kwargs):
    value, at = _read(s, 0)
    at = _skip(s, at)
    if at < len(s):
        _fail('Extra data', s, at)
    return value


def load(fp, **kwargs):
    return loads(fp.read(), **kwargs)
