# SPDX-License-Identifier: Apache-2.0
# posixpath.py - os.path's functions on text, and whether there is a file; the others are left out.
import _files

sep = '/'


def exists(path):
    return _files._kind(str(path)) > 0


def isfile(path):
    return _files._kind(str(path)) == 1


def isdir(path):
    return _files._kind(str(path)) == 2


def join(first, *parts):
    path = str(first)
    for part in map(str, parts):
        if part.startswith('/'):
            path = part
        elif path == '' or path.endswith('/'):
            path = path + part
        else:
            path = path + '/' + part
    return path


def split(path):
    path = str(path)
    i = path.rfind('/') + 1
    head = path[:i]
    if head != '/' * len(head):
        head = head.rstrip('/')
    return head, path[i:]


def dirname(path):
    return split(path)[0]


def basename(path):
    return split(path)[1]


def splitext(path):
    path = str(path)
    name = basename(path)
    i = name.rfind('.')
    if i <= 0:
        return path, ''
    cut = len(path) - len(name) + i
    return path[:cut], path[cut:]


def isabs(path):
    return path.startswith('/')


def expanduser(path):
    return path


def expandvars(path):
    return path


def abspath(path):
    return path


def realpath(path):
    return path
