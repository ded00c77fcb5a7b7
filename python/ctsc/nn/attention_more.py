# SPDX-License-Identifier: Apache-2.0
# attention_more.py - its parts are files of a folder of another name, since the prelude's is one file.
import os as _os

__path__ = [_os.path.join(_os.path.dirname(__file__), '_attention')]
