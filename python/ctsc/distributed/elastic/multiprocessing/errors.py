# SPDX-License-Identifier: Apache-2.0
"""errors.py - record: what a program's main function raised is written to the file that the launcher named, for its report."""
import functools
import json
import os
import time
import traceback


def record(fn, error_handler=None):
    @functools.wraps(fn)
    def run(*args, **kwargs):
        try:
            return fn(*args, **kwargs)
        except Exception as e:
            path = os.environ.get("TORCHELASTIC_ERROR_FILE")
            if path:
                message = {"message": {"message": "%s: %s" % (type(e).__name__, e), "extraInfo": {"py_callstack": traceback.format_exc(), "timestamp": str(int(time.time()))}}}
                with open(path, "w") as f:
                    json.dump(message, f)
            raise
    return run
