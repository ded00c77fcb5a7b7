# SPDX-License-Identifier: Apache-2.0
"""torch.utils.tensorboard.summary: a value of each kind as the message (Summary) that a file of events keeps. tag is the name under which TensorBoard shows it."""
import io
import os
import wave

import numpy as np
from google.protobuf import struct_pb2
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_DOUBLE, DT_FLOAT, DT_STRING
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import api_pb2, metadata as hparams_metadata, plugin_data_pb2 as hparams_data
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

from ._arrays import array, bytes_of, grid, height_width_channels, number


def _plugin(name, content=b"", **more):
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=name, content=content), **more)


def _shape(*sizes):
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in sizes])


def _value(**fields):
    return Summary(value=[Summary.Value(**fields)])


# ---- numbers --------------------------------------------------------------------------------------------------------------------------------------


def scalar(name, tensor, collections=None, new_style=False, double_precision=False):
    x = float(number(tensor))
    if not new_style:
        return _value(tag=name, simple_value=x)
    t = TensorProto(double_val=[x], dtype=DT_DOUBLE) if double_precision else TensorProto(float_val=[x], dtype=DT_FLOAT)
    return _value(tag=name, tensor=t, metadata=_plugin("scalars"))


def tensor_proto(tag, tensor):
    x = array(tensor)
    kinds = {"float32": (DT_FLOAT, "float_val"), "float64": (DT_DOUBLE, "double_val")}
    if str(x.dtype) not in kinds:
        raise ValueError("a tensor summary has elements of float32 or float64, not %s" % x.dtype)
    dtype, field = kinds[str(x.dtype)]
    return _value(tag=tag, tensor=TensorProto(dtype=dtype, tensor_shape=_shape(*x.shape), **{field: x.flatten().tolist()}), metadata=_plugin("tensor"))


def _buckets(counts, limits, most):
    """About that many buckets (None: all), as many neighbours joined as fit into the number of bins, without empty ones but one before the first."""
    if most and len(counts) > most:
        step = len(counts) // most
        counts = np.array([counts[i:i + step].sum() for i in range(0, len(counts), step)])
        limits = np.append(limits[:-1][::step], limits[-1])
    full = np.flatnonzero(counts)
    if not full.size:
        return np.zeros(1), limits[:1]
    first, last = full[0], full[-1]
    kept, upper = counts[first:last + 1], limits[first + 1:last + 2]
    return (np.append(counts[first - 1], kept), np.append(limits[first], upper)) if first else (np.append(0, kept), np.append(limits[0], upper))


def histogram(name, values, bins, max_bins=None):
    x = array(values).astype(float).reshape(-1)
    if not x.size:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(x, bins=bins)
    counts, limits = _buckets(counts, limits, max_bins)
    return _value(tag=name, histo=HistogramProto(min=x.min(), max=x.max(), num=len(x), sum=x.sum(), sum_squares=x.dot(x), bucket_limit=limits.tolist(),
                                                 bucket=counts.tolist()))


def histogram_raw(name, min, max, num, sum, sum_squares, bucket_limits, bucket_counts):
    return _value(tag=name, histo=HistogramProto(min=min, max=max, num=num, sum=sum, sum_squares=sum_squares, bucket_limit=bucket_limits, bucket=bucket_counts))


def compute_curve(labels, predictions, num_thresholds=None, weights=None):
    """Six rows (true positives, false positives, true negatives, false negatives, precision, recall) of a column for each threshold i / (n - 1)."""
    n = num_thresholds
    labels, predictions = labels.reshape(-1).astype(float), predictions.reshape(-1)
    weights = np.ones_like(labels) if weights is None else np.broadcast_to(array(weights).reshape(-1), labels.shape)
    # A prediction counts at all thresholds that are not above it.
    where = np.clip(np.floor(predictions * (n - 1)).astype(np.int64), 0, n - 1)

    def above(w):
        return np.bincount(where, weights=w, minlength=n)[::-1].cumsum()[::-1]
    tp, fp = above(labels * weights), above((1 - labels) * weights)
    tn, fn = fp[0] - fp, tp[0] - tp
    least = 1e-7
    return np.stack((tp, fp, tn, fn, tp / np.maximum(least, tp + fp), tp / np.maximum(least, tp + fn)))


def pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, num_thresholds=127, weights=None):
    n = min(num_thresholds, 127)
    data = np.stack([array(v) for v in (tp, fp, tn, fn, precision, recall)])
    metadata = _plugin("pr_curves", PrCurvePluginData(version=0, num_thresholds=n).SerializeToString())
    return _value(tag=tag, metadata=metadata, tensor=TensorProto(dtype=DT_FLOAT, float_val=data.reshape(-1).tolist(), tensor_shape=_shape(*data.shape)))


def pr_curve(tag, labels, predictions, num_thresholds=127, weights=None):
    n = min(num_thresholds, 127)
    return pr_curve_raw(tag, *compute_curve(array(labels), array(predictions), n, weights), num_thresholds=n)


def text(tag, text):
    content = TextPluginData(version=0).SerializeToString()
    return _value(tag=tag + "/text_summary", metadata=_plugin("text", content),
                  tensor=TensorProto(dtype=DT_STRING, string_val=[text.encode("utf-8")], tensor_shape=_shape(1)))


# ---- pictures and sounds --------------------------------------------------------------------------------------------------------------------------


def _encode(pixels, boxes=None, labels=None):
    """Bytes of height x width x channel, as PNG. boxes: x and y of two corners each, drawn with their labels."""
    from PIL import Image, ImageDraw
    image = Image.fromarray(pixels)
    for i, box in enumerate(() if boxes is None else boxes):
        draw = ImageDraw.Draw(image)
        draw.rectangle([float(v) for v in box], outline="red", width=2)
        if labels is not None:
            draw.text((float(box[0]), max(0.0, float(box[1]) - 12)), str(labels[i]), fill="red")
    out = io.BytesIO()
    image.save(out, format="PNG")
    return Summary.Image(height=image.height, width=image.width, colorspace=pixels.shape[2], encoded_image_string=out.getvalue())


def image(tag, tensor, rescale=1, dataformats="NCHW"):
    return _value(tag=tag, image=_encode(bytes_of(height_width_channels(array(tensor), dataformats))))


def image_boxes(tag, tensor_image, tensor_boxes, rescale=1, dataformats="CHW", labels=None):
    return _value(tag=tag, image=_encode(bytes_of(height_width_channels(array(tensor_image), dataformats)), array(tensor_boxes), labels))


def video(tag, tensor, fps=4):
    """n x time x channel x height x width, as an animation (GIF) of n pictures side by side."""
    from PIL import Image
    x = bytes_of(array(tensor))
    if x.ndim != 5:
        raise AssertionError("a video has dims N, T, C, H and W")
    frames = [Image.fromarray(height_width_channels(x[:, t], "NCHW")) for t in range(x.shape[1])]
    out = io.BytesIO()
    frames[0].save(out, format="GIF", save_all=True, append_images=frames[1:], duration=max(1, round(1000 / fps)), loop=0)
    return _value(tag=tag, image=Summary.Image(height=frames[0].height, width=frames[0].width, colorspace=x.shape[2], encoded_image_string=out.getvalue()))


def audio(tag, tensor, sample_rate=44100):
    x = array(tensor).squeeze()
    if x.ndim > 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    x = (np.clip(x.reshape(-1), -1, 1) * 32767.0).astype("<i2")
    out = io.BytesIO()
    with wave.open(out, "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(sample_rate)
        w.writeframes(x.tobytes())
    return _value(tag=tag, audio=Summary.Audio(sample_rate=sample_rate, num_channels=1, length_frames=len(x), encoded_audio_string=out.getvalue(),
                                               content_type="audio/wav"))


def custom_scalars(layout):
    """layout: categories of charts, {category: {title: [kind, tags]}}; kind is Multiline or Margin."""
    categories = []
    for name, charts in layout.items():
        made = []
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError("a margin chart has three tags")
                series = layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
                made.append(layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series])))
            else:
                made.append(layout_pb2.Chart(title=title, multiline=layout_pb2.MultilineChartContent(tag=[r"%s" % t for t in tags])))
        categories.append(layout_pb2.Category(title=name, chart=made))
    data = layout_pb2.Layout(category=categories).SerializeToString()
    return _value(tag="custom_scalars__config__", metadata=_plugin("custom_scalars"), tensor=TensorProto(dtype=DT_STRING, string_val=[data], tensor_shape=_shape()))


# ---- hyperparameters ------------------------------------------------------------------------------------------------------------------------------


def _hyperparameter(x):
    """(what it is, its value): a bool, a number or a text."""
    if hasattr(x, "detach") or isinstance(x, np.generic):
        x = number(x)
    if isinstance(x, bool):
        return api_pb2.DATA_TYPE_BOOL, x
    if isinstance(x, (int, float)):
        return api_pb2.DATA_TYPE_FLOAT64, float(x)
    if isinstance(x, str):
        return api_pb2.DATA_TYPE_STRING, x
    raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")


def _hparams_message(**which):
    content = hparams_data.HParamsPluginData(version=hparams_metadata.PLUGIN_DATA_VERSION, **which)
    name = {"experiment": hparams_metadata.EXPERIMENT_TAG, "session_start_info": hparams_metadata.SESSION_START_INFO_TAG,
            "session_end_info": hparams_metadata.SESSION_END_INFO_TAG}[next(iter(which))]
    return _value(tag=name, metadata=_plugin(hparams_metadata.PLUGIN_NAME, content.SerializeToString()))


def hparams(hparam_dict=None, metric_dict=None, hparam_domain_discrete=None):
    """(what is varied and measured, the beginning of this session with its values, its end)."""
    if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
        raise TypeError("parameter: hparam_dict and metric_dict should be a dictionary, nothing logged.")
    infos, start = [], hparams_data.SessionStartInfo()
    for name, x in hparam_dict.items():
        if x is None:
            continue
        kind, value = _hyperparameter(x)
        start.hparams[name].CopyFrom(struct_pb2.Value(**{{api_pb2.DATA_TYPE_BOOL: "bool_value", api_pb2.DATA_TYPE_FLOAT64: "number_value",
                                                         api_pb2.DATA_TYPE_STRING: "string_value"}[kind]: value}))
        info = api_pb2.HParamInfo(name=name, type=kind)
        if hparam_domain_discrete and name in hparam_domain_discrete:
            info.domain_discrete.extend(hparam_domain_discrete[name])
        elif kind == api_pb2.DATA_TYPE_BOOL:
            info.domain_discrete.extend([True, False])
        infos.append(info)
    metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=name)) for name in metric_dict]
    return (_hparams_message(experiment=api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)), _hparams_message(session_start_info=start),
            _hparams_message(session_end_info=hparams_data.SessionEndInfo(status=api_pb2.STATUS_SUCCESS)))


# ---- embeddings -----------------------------------------------------------------------------------------------------------------------------------


def write_embedding(folder, mat, metadata, header, label_img):
    """The files that the projector reads: tensors.tsv, metadata.tsv, sprite.png."""
    os.makedirs(folder, exist_ok=True)
    x = array(mat)
    if x.ndim != 2:
        raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
    with open(os.path.join(folder, "tensors.tsv"), "w", encoding="utf-8") as f:
        f.writelines("\t".join(str(v) for v in row) + "\n" for row in x.tolist())
    if metadata is not None:
        if len(metadata) != len(x):
            raise AssertionError("#labels should equal with #data points")
        rows = ["\t".join(str(v) for v in row) for row in [header, *metadata]] if header else [str(v) for v in metadata]
        with open(os.path.join(folder, "metadata.tsv"), "w", encoding="utf-8") as f:
            f.writelines(row + "\n" for row in rows)
    if label_img is not None:
        images = array(label_img)
        if len(images) != len(x):
            raise AssertionError("#images should equal with #data points")
        side = int(np.ceil(np.sqrt(len(images))))
        images = np.concatenate([images, np.zeros((side * side - len(images), *images.shape[1:]), images.dtype)])
        from PIL import Image
        Image.fromarray(bytes_of(grid(images, side).transpose(1, 2, 0))).save(os.path.join(folder, "sprite.png"))
