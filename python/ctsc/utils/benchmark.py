# SPDX-License-Identifier: Apache-2.0
"""benchmark.py - torch.utils.benchmark: Timer, whose statements are timed by Python's timeit, and Compare, which prints a table of what it measured."""
import time
import timeit


class Measurement:
    def __init__(self, number_per_run, raw_times, task_spec):
        self.number_per_run, self.raw_times, self.task_spec = number_per_run, raw_times, task_spec
        self.times = [t / number_per_run for t in raw_times]
        self.title = task_spec["label"] or task_spec["stmt"]
        self.label, self.sub_label, self.description, self.num_threads = task_spec["label"], task_spec["sub_label"], task_spec["description"], task_spec["num_threads"]

    def _quantile(self, q):
        s = sorted(self.times)
        at = q * (len(s) - 1)
        low = int(at)
        return s[low] + (s[min(low + 1, len(s) - 1)] - s[low]) * (at - low)

    @property
    def median(self):
        return self._quantile(0.5)

    @property
    def mean(self):
        return sum(self.times) / len(self.times)

    @property
    def iqr(self):
        return self._quantile(0.75) - self._quantile(0.25)

    @property
    def significant_figures(self):
        return 3

    def __repr__(self):
        scale, unit = next((s, u) for s, u in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")) if self.median >= s or u == "ns")
        what = "%.2f %s" % (self.median / scale, unit)
        lines = ["<%s.Measurement object>" % __name__, self.title] + ([self.sub_label] if self.sub_label else []) + (["setup: " + self.task_spec["setup"]] if self.task_spec["setup"] != "pass" else [])
        if len(self.times) == 1:
            lines += ["  " + what, "  1 measurement, %d runs , %d thread" % (self.number_per_run, self.num_threads)]
        else:
            lines += ["  Median: " + what, "  IQR:    %.2f %s" % (self.iqr / scale, unit), "  %d measurements, %d runs per measurement, %d thread" % (
                len(self.times), self.number_per_run, self.num_threads)]
        return "\n".join(lines)


class Timer:
    def __init__(self, stmt="pass", setup="pass", global_setup="", timer=time.perf_counter, globals=None, label=None, sub_label=None, description=None, env=None, num_threads=1, language=None):
        if global_setup or language not in (None, "python", "py") and str(language) != "Language.PYTHON":
            raise NotImplementedError("Timer: statements in C++")
        import ctsc
        names = dict(globals or {})
        names.setdefault("torch", ctsc)
        self._timer = timeit.Timer(stmt, setup, timer=timer, globals=names)
        self._spec = {"stmt": stmt, "setup": setup, "label": label, "sub_label": sub_label, "description": description, "num_threads": num_threads}

    def _threads(self):
        from contextlib import contextmanager

        import ctsc

        @contextmanager
        def some():
            before = ctsc.get_num_threads()
            ctsc.set_num_threads(self._spec["num_threads"])
            try:
                yield
            finally:
                ctsc.set_num_threads(before)
        return some()

    def timeit(self, number=1000000):
        with self._threads():
            self._timer.timeit(max(number // 100, 2))
            return Measurement(number, [self._timer.timeit(number)], self._spec)

    def _block(self, min_run_time):
        number = 1
        while True:
            spent = self._timer.timeit(number)
            if spent >= min_run_time / 1000 or spent >= 1e-4 or number >= 1 << 30:
                return number
            number *= 10

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        with self._threads():
            number, times, total = self._block(min_run_time), [], 0.0
            while total < min_run_time:
                times.append(self._timer.timeit(number))
                total += times[-1]
                if callback:
                    callback(number, times[-1])
            return Measurement(number, times, self._spec)

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        with self._threads():
            number, times, total = self._block(min_run_time), [], 0.0
            while True:
                times.append(self._timer.timeit(number))
                total += times[-1]
                if callback:
                    callback(number, times[-1])
                m = Measurement(number, times, self._spec)
                if total >= max_run_time or total >= min_run_time and len(times) > 3 and m.iqr / m.median < threshold:
                    return m


class Compare:
    def __init__(self, results):
        self._results = list(results)

    def extend_results(self, results):
        self._results += list(results)

    def trim_significant_figures(self):
        pass

    def colorize(self, rowwise=False):
        pass

    def highlight_warnings(self):
        pass

    def __str__(self):
        columns, rows = [], []
        for m in self._results:
            if m.description not in columns:
                columns.append(m.description)
            if (m.label, m.sub_label, m.num_threads) not in rows:
                rows.append((m.label, m.sub_label, m.num_threads))
        low = min([m.median for m in self._results] or [1.0])
        scale, name = next((s, u) for s, u in ((1.0, "seconds (s)"), (1e-3, "milliseconds (ms)"), (1e-6, "microseconds (us)"), (1e-9, "nanoseconds (ns)")) if low >= s or s == 1e-9)
        table = [[""] + [str(c) for c in columns]]
        for row in rows:
            cells = []
            for c in columns:
                found = [m.median / scale for m in self._results if (m.label, m.sub_label, m.num_threads) == row and m.description == c]
                cells.append("%.1f" % (sum(found) / len(found)) if found else "")
            table.append(["%s (%d threads)" % (row[1] or row[0] or "", row[2])] + cells)
        widths = [max(len(r[i]) for r in table) for i in range(len(columns) + 1)]
        lines = ["  |  ".join(cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(r, widths))) for r in table]
        return "\n".join(lines + ["", "Times are in %s." % name])

    def print(self):
        print(str(self))


timer = time.perf_counter
