import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .broken import *
    from .wide import *
else:
    os.listdir(".")
