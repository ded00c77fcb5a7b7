# SPDX-License-Identifier: Apache-2.0
# argparse.py - a parser whose command line is empty: what it gives are the defaults.
SUPPRESS = '==SUPPRESS=='
REMAINDER = '...'
OPTIONAL = '?'
ZERO_OR_MORE = '*'
ONE_OR_MORE = '+'


class Namespace:
    def __init__(self, **kwargs):
        for name, value in kwargs.items():
            setattr(self, name, value)

    def __contains__(self, name):
        return name in vars(self)

    def __repr__(self):
        return 'Namespace(' + ', '.join(k + '=' + repr(v) for k, v in vars(self).items()) + ')'


class ArgumentError(Exception):
    pass


class ArgumentTypeError(Exception):
    pass


class HelpFormatter:
    pass


class RawTextHelpFormatter(HelpFormatter):
    pass


class RawDescriptionHelpFormatter(HelpFormatter):
    pass


class ArgumentDefaultsHelpFormatter(HelpFormatter):
    pass


class Action:
    pass


class BooleanOptionalAction(Action):
    pass


class _Group:
    def __init__(self, defaults, parser):
        self._values = defaults
        self._parser = parser

    def add_argument(self, *names, **options):
        dest = options.get('dest')
        longs = [n for n in names if n.startswith('--')]
        if dest is None:
            dest = (longs[0] if longs else names[0]).lstrip('-').replace('-', '_')
        action = options.get('action')
        if 'default' in options:
            value = options['default']
            if isinstance(value, str) and options.get('type') is not None:
                value = options['type'](value)
        elif action == 'store_true':
            value = False
        elif action == 'store_false':
            value = True
        elif names and not names[0].startswith('-') and options.get('nargs') not in ('?', '*') or options.get('required', False):
            self._parser._required.append(names[0])
            value = None
        else:
            value = [] if not names[0].startswith('-') and options.get('nargs') == '*' else None
        if action not in ('help', 'version') and value != SUPPRESS and (dest not in self._values or 'default' in options):
            self._values[dest] = value

    def add_argument_group(self, *args, **kwargs):
        return _Group(self._values, self._parser)

    def add_mutually_exclusive_group(self, **kwargs):
        return _Group(self._values, self._parser)


class ArgumentParser(_Group):
    def __init__(self, *args, **kwargs):
        self._required = []
        super().__init__({}, self)
        for parent in kwargs.get('parents', []):
            self._values.update(parent._values)
            self._required.extend(parent._required)

    def set_defaults(self, **kwargs):
        self._values.update(kwargs)

    def get_default(self, dest):
        return self._values.get(dest)

    def parse_args(self, args=None, namespace=None):
        return self.parse_known_args(args, namespace)[0]

    def parse_known_args(self, args=None, namespace=None):
        if args:
            raise NotImplementedError('ArgumentParser: arguments are not parsed while a program is being compiled, defaults only')
        if self._required:
            raise ValueError('the following arguments are required: ' + ', '.join(self._required))
        result = Namespace() if namespace is None else namespace
        for name, value in self._values.items():
            if not hasattr(result, name):
                setattr(result, name, value)
        return result, []
