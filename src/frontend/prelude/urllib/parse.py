# SPDX-License-Identifier: Apache-2.0
# parse.py - urllib.parse on text: enough to take a URL apart.
from collections import namedtuple

ParseResult = namedtuple('ParseResult', 'scheme netloc path params query fragment')
SplitResult = namedtuple('SplitResult', 'scheme netloc path query fragment')


def unquote(string, encoding='utf-8', errors='replace'):
    parts = string.split('%')
    out = parts[0]
    for part in parts[1:]:
        digits = part[:2]
        plain = len(digits) == 2 and all(c in '0123456789abcdefABCDEF' for c in digits) and int(digits, 16) < 128
        out += chr(int(digits, 16)) + part[2:] if plain else '%' + part
    return out


def urlsplit(url, scheme='', allow_fragments=True):
    fragment = query = netloc = ''
    i = url.find(':')
    if i > 0 and url[:i].replace('+', '').replace('-', '').replace('.', '').isalnum() and url[:1].isalpha():
        scheme = url[:i].lower()
        url = url[i + 1:]
    if url.startswith('//'):
        end = min([k for k in (url.find(c, 2) for c in '/?#') if k >= 0] + [len(url)])
        netloc = url[2:end]
        url = url[end:]
    if allow_fragments and '#' in url:
        url, fragment = url.split('#', 1)
    if '?' in url:
        url, query = url.split('?', 1)
    return SplitResult(scheme, netloc, url, query, fragment)


def urlparse(url, scheme='', allow_fragments=True):
    s = urlsplit(url, scheme, allow_fragments)
    path = s.path
    params = ''
    last = path.rfind('/') + 1
    if ';' in path[last:]:
        cut = path.find(';', last)
        path, params = path[:cut], path[cut + 1:]
    return ParseResult(s.scheme, s.netloc, path, params, s.query, s.fragment)
