# SPDX-License-Identifier: Apache-2.0
"""profiler.py - ctsc.profiler() (a block whose calls of programs are counted), and torch.profiler: operators that Python calls, ranges, and what programs do, timed.

While a profile runs, calls of operators go through the hook of _intercept.py, as they do under autocast. The operators of a program come from the library's own
profiler, and count as the program's.
"""
import enum
import json
import sys
import threading
import time
import types

from . import _C, _intercept, _module


class ProfilerActivity(enum.Enum):
    CPU = 0
    XPU = 1
    CUDA = 2
    MTIA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities():
    return {ProfilerActivity.CPU}


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """What a profile does at each step."""
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError("Invalid profiler schedule arguments")
    cycle = wait + warmup + active

    def action(step):
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        if repeat and step // cycle >= repeat:
            return ProfilerAction.NONE
        at = step % cycle
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < cycle - 1 else ProfilerAction.RECORD_AND_SAVE
    return action


def _always(step):
    return ProfilerAction.RECORD


class _Record:
    """Nested ranges of the threads: (name, start, microseconds, of these in ranges within, thread, shapes)."""

    def __init__(self, shapes):
        self.shapes, self.events, self.local = shapes, [], threading.local()

    def open(self):
        stack = getattr(self.local, "stack", None)
        if stack is None:
            stack = self.local.stack = []
        stack.append([time.perf_counter(), 0.0])

    def close(self, name, shapes=()):
        start, inner = self.local.stack.pop()
        spent = time.perf_counter() - start
        if self.local.stack:
            self.local.stack[-1][1] += spent
        self.events.append((name, start * 1e6, spent * 1e6, inner * 1e6, threading.get_ident(), shapes))


_running = [None]


def _watched(call, op, args, kwargs):
    record = _running[0]
    if record is None:
        return call(op, args, kwargs)
    shapes = tuple(tuple(a.shape) if isinstance(a, _C.Tensor) else () for a in args) if record.shapes else ()
    record.open()
    try:
        return call(op, args, kwargs)
    finally:
        record.close("aten::" + op.__name__, shapes)


class record_function:
    """A range with a name; a decorator, too."""

    def __init__(self, name, args=None):
        self.name, self.args, self._record = name, args, None

    def __enter__(self):
        self._record = _running[0]
        if self._record is not None:
            self._record.open()
        return self

    def __exit__(self, *exception):
        if self._record is not None:
            self._record.close(self.name)

    def __call__(self, f):
        import functools

        @functools.wraps(f)
        def run(*args, **kwargs):
            with record_function(self.name, self.args):
                return f(*args, **kwargs)
        return run


class FunctionEvent:
    def __init__(self, name, start, total, inner, thread, shapes):
        self.name = self.key = name
        self.thread, self.input_shapes, self.count = thread, [list(s) for s in shapes], 1
        self.time_range = types.SimpleNamespace(start=start, end=start + total, elapsed_us=lambda: total)
        self.cpu_time = self.cpu_time_total = self.time = total
        self.self_cpu_time_total = total - inner
        self.device_time = self.device_time_total = self.self_device_time_total = self.cuda_time_total = 0.0

    def __repr__(self):
        return "<FunctionEvent name=%s cpu_time=%.3fus thread=%d>" % (self.name, self.cpu_time, self.thread)


class FunctionEventAvg(FunctionEvent):
    def __init__(self, key, shapes=()):
        super().__init__(key, 0.0, 0.0, 0.0, 0, shapes)
        self.count = 0

    def add(self, total, own, count=1):
        self.count += count
        self.cpu_time_total += total
        self.self_cpu_time_total += own
        self.cpu_time = self.time = self.cpu_time_total / self.count

    def __repr__(self):
        return "<FunctionEventAvg key=%s self_cpu_time=%s cpu_time=%s>" % (self.key, _spent(self.self_cpu_time_total), _spent(self.cpu_time))


def _spent(us):
    return "%.3fs" % (us / 1e6) if us >= 1e6 else "%.3fms" % (us / 1e3) if us >= 1e3 else "%.3fus" % us


class EventList(list):
    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        found = {}
        for e in self:
            key = (e.key, str(e.input_shapes) if group_by_input_shape else "")
            if key not in found:
                found[key] = FunctionEventAvg(e.key, e.input_shapes if group_by_input_shape else ())
            found[key].add(e.cpu_time_total, e.self_cpu_time_total, e.count)
        return EventList(found.values())

    def total_average(self):
        total = FunctionEventAvg("Total")
        for e in self:
            total.add(e.cpu_time_total, e.self_cpu_time_total, e.count)
        return total

    @property
    def self_cpu_time_total(self):
        return sum(e.self_cpu_time_total for e in self)

    def table(self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55, max_shapes_column_width=80, header=None, top_level_events_only=False,
              time_unit=None):
        rows = list(self)
        if sort_by:
            name = sort_by.replace("cuda_time", "device_time")
            rows.sort(key=lambda e: getattr(e, name, 0), reverse=True)
        rows = rows[:row_limit] if row_limit >= 0 else rows
        whole = self.self_cpu_time_total or 1.0
        wide = min(max([len(e.key) for e in rows] + [4]), max_name_column_width)
        shapes = any(e.input_shapes for e in rows)
        titles = ["Name".rjust(wide)] + [t.rjust(14) for t in ("Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls")] + (["Input Shapes"] if shapes else [])
        rule = "  ".join("-" * len(t) for t in titles)
        lines = ([header] if header else []) + [rule, "  ".join(titles), rule]
        for e in rows:
            cells = ["%.2f%%" % (100 * e.self_cpu_time_total / whole), _spent(e.self_cpu_time_total), "%.2f%%" % (100 * e.cpu_time_total / whole), _spent(e.cpu_time_total),
                     _spent(e.cpu_time), str(e.count)]
            name = e.key if len(e.key) <= wide else e.key[:wide - 3] + "..."
            lines.append("  ".join([name.rjust(wide)] + [c.rjust(14) for c in cells] + ([str(e.input_shapes)[:max_shapes_column_width]] if shapes else [])))
        return "\n".join(lines + [rule, "Self CPU time total: " + _spent(self.self_cpu_time_total), ""])

    def __str__(self):
        return self.table()

    def export_chrome_trace(self, path):
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": e.name, "pid": 0, "tid": e.thread, "ts": e.time_range.start, "dur": e.cpu_time_total} for e in self]}, f)


class profile:
    """with profile(...) as p: ...; p.key_averages().table()"""

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, profile_memory=False, with_stack=False, with_flops=False, with_modules=False,
                 experimental_config=None, execution_trace_observer=None, acc_events=False, use_cuda=None, custom_trace_id_callback=None, post_processing_timeout_s=None):
        self.activities, self.record_shapes, self.on_trace_ready = set(activities or supported_activities()), record_shapes, on_trace_ready
        self._schedule, self._steps = schedule or _always, schedule is not None
        self.step_num, self.current_action, self._record, self._programs, self._events, self._step = 0, ProfilerAction.NONE, None, None, EventList(), None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exception):
        self.stop()

    def start(self):
        self._turn(self._schedule(self.step_num))
        self._open_step()

    def stop(self):
        self._close_step()
        recorded = self._record is not None
        self._end()
        self.current_action = ProfilerAction.NONE
        if recorded and self.on_trace_ready:
            self.on_trace_ready(self)

    def step(self):
        """Ends a step, and does what the schedule says of the next."""
        self._close_step()
        self.step_num += 1
        if self.current_action is ProfilerAction.RECORD_AND_SAVE:
            self._end()
            if self.on_trace_ready:
                self.on_trace_ready(self)
        self._turn(self._schedule(self.step_num))
        self._open_step()

    def _open_step(self):
        if self._steps and self._record is not None:
            self._step = record_function("ProfilerStep#%d" % self.step_num)
            self._step.__enter__()

    def _close_step(self):
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def _turn(self, action):
        self.current_action = action
        if action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            if self._record is None:
                if _running[0] is not None:
                    raise RuntimeError("a profile is running already")
                self._record, self._programs = _Record(self.record_shapes), _C.Profiler(0)
                self._programs._enter()
                _running[0] = self._record
                _intercept.watch(_watched)
        elif self._record is not None:
            self._end()

    def _end(self):
        if self._record is None:
            return
        _intercept.watch(None)
        _running[0] = None
        self._programs._leave()
        self._events = EventList(FunctionEvent(*e) for e in self._record.events)
        self._within = json.loads(self._programs._text("json"))["operators"]
        self._record = self._programs = None

    def events(self):
        return self._events

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        found = self._events.key_averages(group_by_input_shape)
        rows = {e.key: e for e in found}
        for op in getattr(self, "_within", ()):
            row = rows.get(op["name"])
            if row is None:
                row = rows[op["name"]] = FunctionEventAvg(op["name"])
                found.append(row)
            row.add(op["self_us"], op["self_us"], op["count"])
        return found

    def table(self, sort_by=None, row_limit=100, **options):
        return self.key_averages().table(sort_by=sort_by, row_limit=row_limit, **options)

    def total_average(self):
        return self.key_averages().total_average()

    @property
    def self_cpu_time_total(self):
        return self._events.self_cpu_time_total

    def export_chrome_trace(self, path):
        self._events.export_chrome_trace(path)

    def add_metadata(self, key, value):
        pass

    add_metadata_json = preset_metadata_json = add_metadata


_KinetoProfile = profile


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """Writes each trace into a file of the folder."""
    import os

    def write(prof):
        os.makedirs(dir_name, exist_ok=True)
        name = "%s.%d.pt.trace.json" % (worker_name or "worker_%d" % os.getpid(), time.time_ns())
        prof.export_chrome_trace(os.path.join(dir_name, name))
    return write


def kineto_available():
    return False


_default_schedule_fn = _always


class _Callable(types.ModuleType):
    def __call__(self, timeline=0):
        return _module.profiler(timeline)


sys.modules[__name__].__class__ = _Callable
profiler = sys.modules[__name__ + ".profiler"] = sys.modules[__name__]
