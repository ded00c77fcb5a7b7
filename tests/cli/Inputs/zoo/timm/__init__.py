# SPDX-License-Identifier: Apache-2.0
from .models import small


def create_model(name, scriptable=False):
    print("what packages print when they are imported")
    return getattr(small, name)()
