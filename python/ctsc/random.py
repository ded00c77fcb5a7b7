# SPDX-License-Identifier: Apache-2.0
"""random.py - torch.random: the generator of operators that are given none."""
import contextlib

from ._functions import default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type=None):
    """The numbers that are drawn in the block are not missing after it."""
    state = get_rng_state() if enabled else None
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)
