# SPDX-License-Identifier: Apache-2.0
# container_more.py - a row of equal modules is one line.
def _short_repr(self):
    rows = []
    for i, text in enumerate(repr(m) for m in self):
        if rows and rows[-1][2] == text:
            rows[-1][1] = i
        else:
            rows.append([i, i, text])
    lines = []
    for first, last, text in rows:
        text = '({}): {}'.format(first, text) if first == last else '({}-{}): {} x {}'.format(first, last, last - first + 1, text)
        lines.append(text.replace('\n', '\n  '))
    return self._get_name() + ('(\n  ' + '\n  '.join(lines) + '\n)' if lines else '()')


ModuleList.__repr__ = _short_repr
