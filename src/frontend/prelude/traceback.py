# SPDX-License-Identifier: Apache-2.0
# traceback.py - what an exception says, without the calls that led there.


def format_exception_only(exc, value=None):
    e = exc if value is None else value
    return [type(e).__name__ + ': ' + str(e) + '\n']


def format_exception(exc, value=None, tb=None, **kwargs):
    return format_exception_only(exc, value)


def format_exc(limit=None, chain=True):
    return ''


def print_exc(*args, **kwargs):
    pass
