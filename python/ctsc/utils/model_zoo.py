# SPDX-License-Identifier: Apache-2.0
"""model_zoo.py - torch.utils.model_zoo: torch.hub's by an older name."""
from ..hub import load_state_dict_from_url as load_url


def __getattr__(name):
    if name != "tqdm":
        raise AttributeError("module 'ctsc.utils.model_zoo' has no attribute '%s'" % name)
    from ..hub import tqdm
    return tqdm
