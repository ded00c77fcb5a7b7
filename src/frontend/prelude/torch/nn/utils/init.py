# SPDX-License-Identifier: Apache-2.0
# init.py - construction without initialisation.
def skip_init(module_cls, *args, **kwargs):
    kwargs.pop('device', None)
    return module_cls(*args, **kwargs)
