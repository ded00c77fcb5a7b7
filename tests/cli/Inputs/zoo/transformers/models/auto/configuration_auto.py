# SPDX-License-Identifier: Apache-2.0
from collections import OrderedDict

CONFIG_MAPPING_NAMES = OrderedDict(
    [
        ("word", "WordConfig"),
        ("two-words", "WordConfig"),
    ]
)
