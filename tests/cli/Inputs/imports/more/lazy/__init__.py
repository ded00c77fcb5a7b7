"""A package whose names are imported when they are asked for, as large libraries do it."""
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .models import *
    from .tools import halve as half
else:
    names = os.listdir(os.path.dirname(__file__))
    sys.modules[__name__] = ModuleType(__name__, names)
