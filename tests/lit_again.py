# SPDX-License-Identifier: Apache-2.0
"""lit's format of tests/ir and tests/cli (lit.cfg.py), in a module of its own, since lit hands it to other processes."""
import lit.formats

LSAN_CRASHED = "LeakSanitizer has encountered a fatal error"
TRIES = 3


class Again(lit.formats.ShTest):
    """A test in which LeakSanitizer crashed itself, as it may when it looks at the threads of a process that ends, is made again (tests/run.py)."""

    def execute(self, test, settings):
        for _ in range(TRIES):
            done = super().execute(test, settings)
            if LSAN_CRASHED not in done.output:
                break
        return done
