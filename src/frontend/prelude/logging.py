# SPDX-License-Identifier: Apache-2.0
# logging.py - loggers that log nothing: a program that is being compiled has nobody to tell.
NOTSET = 0
DEBUG = 10
INFO = 20
WARNING = 30
WARN = 30
ERROR = 40
CRITICAL = 50


class Logger:
    def __init__(self, name, level=NOTSET):
        self.name = name
        self.level = level
        self.handlers = []
        self.propagate = True

    def debug(self, *args, **kwargs):
        pass

    def info(self, *args, **kwargs):
        pass

    def warning(self, *args, **kwargs):
        pass

    def warn(self, *args, **kwargs):
        pass

    def error(self, *args, **kwargs):
        pass

    def exception(self, *args, **kwargs):
        pass

    def critical(self, *args, **kwargs):
        pass

    def log(self, *args, **kwargs):
        pass

    def setLevel(self, level):
        self.level = level

    def isEnabledFor(self, level):
        return False

    def addHandler(self, handler):
        self.handlers.append(handler)


root = Logger('root')


def getLogger(name=None):
    return root if name is None else Logger(name)


def basicConfig(**kwargs):
    pass


def debug(*args, **kwargs):
    pass


def info(*args, **kwargs):
    pass


def warning(*args, **kwargs):
    pass


def warn(*args, **kwargs):
    pass


def error(*args, **kwargs):
    pass


def critical(*args, **kwargs):
    pass


def disable(level=CRITICAL):
    pass


class NullHandler:
    pass


class StreamHandler:
    def __init__(self, stream=None):
        pass

    def setLevel(self, level):
        pass

    def setFormatter(self, formatter):
        pass


class Formatter:
    def __init__(self, *args, **kwargs):
        pass
