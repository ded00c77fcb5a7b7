# SPDX-License-Identifier: Apache-2.0
# json.py - texts of objects; what reads them is left out.
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
