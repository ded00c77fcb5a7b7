# SPDX-License-Identifier: Apache-2.0
"""format_utils.py - checkpoints as one file of torch.save, and back."""
from .api import save, whole


def dcp_to_torch_save(dcp_checkpoint_dir, torch_save_path):
    import ctsc
    ctsc.save(whole(dcp_checkpoint_dir), torch_save_path)


def torch_save_to_dcp(torch_save_path, dcp_checkpoint_dir):
    import ctsc
    save(ctsc.load(torch_save_path, weights_only=False), checkpoint_id=dcp_checkpoint_dir, no_dist=True)
