# SPDX-License-Identifier: Apache-2.0
"""_extensions.py - libraries in C++ that packages load by torch.ops.load_library: those that link to PyTorch's own libraries cannot be loaded here.

Loading one succeeds, so that its package can be imported. Operators of it that ctsc has (torchvision's, and those below) are called; another one is refused when it is looked
up, with the names of the libraries that have been left out.
"""
import os

from . import _C

left_out = [] # names of files

_OF_PYTORCH = (b"libc10.so", b"libtorch.so", b"libtorch_cpu.so", b"libtorch_python.so")


def links_to_pytorch(path):
    """Whether the file is a library that needs PyTorch's: their names are in its table of strings."""
    try:
        with open(path, "rb") as f:
            data = f.read(1 << 28)
    except OSError:
        return False
    return data.startswith(b"\x7fELF") and any(name in data for name in _OF_PYTORCH)


def leave_out(path):
    name = os.path.basename(path)
    if name not in left_out:
        left_out.append(name)
    for prefix, table in _TABLES:
        if name.startswith(prefix):
            for schema, function in table.items():
                _add(schema, function)
            table.clear()


def _add(schema, function):
    results = 0 if schema.endswith("()") else schema.rpartition("->")[2].count(",") + 1
    _C._register(schema, function, results, 0, None)


def without():
    """What an AttributeError says more."""
    return " (%s: built for PyTorch's libraries, left out)" % ", ".join(left_out) if left_out else ""


# ---- torchaudio ------------------------------------------------------------------------------------------------------------------------------------------------------------------


def _rows(t):
    """The last dimension's numbers, as memory that can be read and written: one for each of the others. t is contiguous."""
    n, view = t.shape[-1], memoryview(t.reshape(-1)).cast("B").cast({_C.float32: "f", _C.float64: "d"}[t.dtype])
    return [view[i:i + n] for i in range(0, len(view), n)] if n else []


def _lfilter(waveform, coefficients, output):
    """y[i] = x[i] - sum over k of a[k] y[i - order + k]: output has order - 1 samples in front, a is flipped."""
    padded = output if output.is_contiguous() else output.contiguous()
    taps, channels = coefficients.double().tolist(), waveform.shape[1]
    for row, (x, y) in enumerate(zip(_rows(waveform.contiguous()), _rows(padded))):
        a = taps[row % channels][:-1]
        n = len(a)
        for i, value in enumerate(x):
            for k in range(n):
                value -= a[k] * y[i + k]
            y[i + n] = value
    if padded is not output:
        output.copy_(padded)


def _overdrive(waveform, temp, last_in, last_out, output_waveform):
    """A filter that blocks constant parts, mixed with the waveform."""
    made = output_waveform.contiguous()
    for x, t, o, i, y in zip(_rows(waveform.contiguous()), _rows(temp.contiguous()), range(last_in.numel()), range(last_out.numel()), _rows(made)):
        before, out = last_in.reshape(-1)[o].item(), last_out.reshape(-1)[i].item()
        for k, value in enumerate(t):
            out = value - before + 0.995 * out
            before = value
            y[k] = x[k] * 0.5 + out * 0.75
        last_in.reshape(-1)[o], last_out.reshape(-1)[i] = before, out
    if made is not output_waveform:
        output_waveform.copy_(made)


def _forced_align(log_probs, targets, input_lengths, target_lengths, blank):
    """The likeliest path of labels and blanks (CTC) that gives targets, a label for each frame, and log_probs. One sequence."""
    from ._functions import tensor
    if log_probs.dim() != 3 or log_probs.shape[0] != 1:
        raise RuntimeError("The batch dimension for log_probs must be 1 at the current version.")
    scores, labels = log_probs[0].tolist(), targets[0].tolist()
    if blank in labels:
        raise RuntimeError("targets Tensor shouldn't contain blank index. Found %s" % labels)
    states = [blank]
    for label in labels:
        states += [label, blank]
    repeats = sum(a == b for a, b in zip(labels, labels[1:]))
    if len(scores) < len(labels) + repeats:
        raise RuntimeError("targets length is too long for CTC. Found log_probs length: %d, targets length: %d, and number of repeats: %d" % (len(scores), len(labels), repeats))
    never = float("-inf")
    best = [scores[0][s] if i < 2 else never for i, s in enumerate(states)]
    came = []
    for frame in scores[1:]:
        steps = []
        for i, label in enumerate(states):
            step, value = 0, best[i]
            if i and best[i - 1] > value:
                step, value = 1, best[i - 1]
            if i > 1 and label != blank and label != states[i - 2] and best[i - 2] > value:
                step, value = 2, best[i - 2]
            steps.append((step, value))
        came.append([step for step, _ in steps])
        best = [value + frame[label] for (_, value), label in zip(steps, states)]
    at = len(states) - 1
    if at and best[at - 1] > best[at]:
        at -= 1
    path = [at]
    for steps in reversed(came):
        at -= steps[at]
        path.append(at)
    return tensor([[states[i] for i in reversed(path)]], dtype=targets.dtype), log_probs.clone()


_TABLES = (
    ("_torchaudio", {
        "_torchaudio::cuda_version() -> int?": lambda: None,
        "_torchaudio::is_align_available() -> bool": lambda: True,
    }),
    ("libtorchaudio", {
        "torchaudio::_lfilter_core_loop(Tensor waveform, Tensor coefficients, Tensor(a!) output) -> ()": _lfilter,
        "torchaudio::_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, Tensor(c!) output_waveform) -> ()": _overdrive,
        "torchaudio::forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank) -> (Tensor, Tensor)": _forced_align,
    }),
)
