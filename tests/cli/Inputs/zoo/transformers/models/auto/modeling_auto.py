# SPDX-License-Identifier: Apache-2.0
from collections import OrderedDict

MODEL_MAPPING_NAMES = OrderedDict(
    [
        # Base model mapping
        ("word", "WordModel"),
        ("two-words", ("WordModel", "OtherModel")),
        ("unknown", "UnknownModel"),
    ]
)
OTHER_MAPPING_NAMES = OrderedDict(
    [
        ("other", "OtherModel"),
    ]
)
