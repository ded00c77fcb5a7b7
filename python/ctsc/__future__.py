# SPDX-License-Identifier: Apache-2.0
"""__future__.py - torch.__future__: how modules are converted. Parameters stay the objects that they are, whatever is set here."""
_settings = {"overwrite": False, "swap": False}


def set_overwrite_module_params_on_conversion(value):
    """Whether conversions of modules make new parameters: remembered, no more."""
    _settings["overwrite"] = value


def get_overwrite_module_params_on_conversion():
    """What set_overwrite_module_params_on_conversion has set."""
    return _settings["overwrite"]


def set_swap_module_params_on_conversion(value):
    """Whether conversions of modules exchange what parameters are: remembered, no more."""
    _settings["swap"] = value


def get_swap_module_params_on_conversion():
    """What set_swap_module_params_on_conversion has set."""
    return _settings["swap"]
