# SPDX-License-Identifier: Apache-2.0
"""return_types.py - torch.return_types: the classes of results with names are made when operators return them."""
