# SPDX-License-Identifier: Apache-2.0
"""torch.utils.tensorboard.writer: SummaryWriter, which appends events to a file that TensorBoard watches. The file itself is written by a thread of tensorboard's."""
import os
import socket
import time
from datetime import datetime

from google.protobuf import text_format
from tensorboard.compat.proto import event_pb2
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from . import summary as _summary
from ._arrays import array, number

# Limits of a histogram's buckets: 1e-12 and what is a tenth more each time, the same below zero, and zero.
_UP = [1e-12 * 1.1 ** i for i in range(774)]
_BUCKETS = [-x for x in reversed(_UP)] + [0.0] + _UP


class FileWriter:
    """Events into one new file of log_dir. max_queue: that many wait in memory; flush_secs: they are written at least that often."""

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=""):
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self):
        return self.event_writer.get_logdir()

    def add_event(self, event, step=None, walltime=None):
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(number(step))
        self.event_writer.add_event(event)

    def add_summary(self, summary, global_step=None, walltime=None):
        self.add_event(Event(summary=summary), global_step, walltime)

    def add_graph(self, graph_profile, walltime=None):
        graph, stats = graph_profile
        self.add_event(Event(graph_def=graph.SerializeToString()), None, walltime)
        self.add_event(Event(tagged_run_metadata=event_pb2.TaggedRunMetadata(tag="step1", run_metadata=stats.SerializeToString())), None, walltime)

    def flush(self):
        self.event_writer.flush()

    def close(self):
        self.event_writer.close()

    def reopen(self):
        self.event_writer.reopen()


class SummaryWriter:
    """Writes scalars, histograms, images, text and more under tags, each with a step (global_step) and a time (walltime, seconds since 1970).

    log_dir: the folder; without it runs/DATE_HOST and comment. purge_step: what an earlier run wrote from this step on is hidden. A writer may be used by one
    thread at a time; `with` closes it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as w:
    ...     w.add_scalar("loss", 0.5, 1)
    """

    def __init__(self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120, filename_suffix=""):
        if not log_dir:
            log_dir = os.path.join("runs", datetime.now().strftime("%b%d_%H-%M-%S") + "_" + socket.gethostname() + comment)
        self.log_dir = str(log_dir)
        self.purge_step, self.max_queue, self.flush_secs, self.filename_suffix = purge_step, max_queue, flush_secs, filename_suffix
        self.file_writer = self.all_writers = None
        self._get_file_writer()
        self.default_bins = _BUCKETS

    def _get_file_writer(self):
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = FileWriter(self.log_dir, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                self.file_writer.add_event(Event(step=self.purge_step, file_version="brain.Event:2"))
                self.file_writer.add_event(Event(step=self.purge_step, session_log=SessionLog(status=SessionLog.START)))
                self.purge_step = None
        return self.file_writer

    def _add(self, summary, global_step, walltime):
        self._get_file_writer().add_summary(summary, global_step, walltime)

    def get_logdir(self):
        """The folder that is written to."""
        return self.log_dir

    # ---- numbers and text -------------------------------------------------------------------------------------------------------------------------

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False):
        """One number: a Python number, a NumPy scalar or a tensor of one element. new_style: as a tensor of the scalars plugin."""
        self._add(_summary.scalar(tag, scalar_value, None, new_style, double_precision), global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Several lines of one chart: a run of its own for each key, in a folder beside."""
        self._get_file_writer()
        for tag, x in tag_scalar_dict.items():
            folder = "%s/%s_%s" % (self.log_dir, main_tag.replace("/", "_"), tag)
            if folder not in self.all_writers:
                self.all_writers[folder] = FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers[folder].add_summary(_summary.scalar(main_tag, x), global_step, walltime)

    def add_tensor(self, tag, tensor, global_step=None, walltime=None):
        """A tensor of float32 or float64, whole."""
        self._add(_summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None):
        """How values are distributed. bins: "tensorflow", or what numpy.histogram takes; max_bins: neighbours are joined until there are about as many."""
        bins = self.default_bins if isinstance(bins, str) and bins == "tensorflow" else bins
        self._add(_summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(self, tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts, global_step=None, walltime=None):
        """A histogram that has been computed: bucket_counts[i] values are at most bucket_limits[i]."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        self._add(_summary.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts), global_step, walltime)

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """Text, which TensorBoard reads as Markdown."""
        self._add(_summary.text(tag, text_string), global_step, walltime)

    def add_pr_curve(self, tag, labels, predictions, global_step=None, num_thresholds=127, weights=None, walltime=None):
        """Precision and recall of predictions (0 to 1) of labels (0 or 1) at so many thresholds, at most 127."""
        self._add(_summary.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_pr_curve_raw(self, tag, true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision, recall,
                         global_step=None, num_thresholds=127, weights=None, walltime=None):
        """A curve that has been computed: six lists of one number for each threshold."""
        self._add(_summary.pr_curve_raw(tag, true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision, recall,
                                        num_thresholds, weights), global_step, walltime)

    def add_custom_scalars(self, layout):
        """How charts of scalars are put together: {category: {title: ["Multiline" or "Margin", tags]}}."""
        self._add(_summary.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(self, tags, category="default", title="untitled"):
        """One chart of several scalars."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags, category="default", title="untitled"):
        """One chart of a scalar between two others."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_hparams(self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None):
        """Hyperparameters (bools, numbers, texts) of a run and what came out, in a folder of its own (run_name; the time)."""
        experiment, start, end = _summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        with SummaryWriter(os.path.join(self.log_dir, run_name or str(time.time()))) as w:
            for s in experiment, start, end:
                w.file_writer.add_summary(s, global_step)
            for tag, x in metric_dict.items():
                w.add_scalar(tag, x, global_step)

    # ---- pictures and sounds ----------------------------------------------------------------------------------------------------------------------

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """An image of bytes, or of numbers from 0 to 1. dataformats: its dims. Needs Pillow."""
        self._add(_summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Several images, eight in a row."""
        self._add(_summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(self, tag, img_tensor, box_tensor, global_step=None, walltime=None, rescale=1, dataformats="CHW", labels=None):
        """An image with rectangles (x and y of two corners each) and their labels."""
        if isinstance(labels, str):
            labels = [labels]
        if labels is not None and len(labels) != len(array(box_tensor)):
            labels = None
        self._add(_summary.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels), global_step, walltime)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """A figure of Matplotlib, or a list of them."""
        import matplotlib.pyplot as plt
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        import numpy as np
        figures = figure if isinstance(figure, list) else [figure]
        pixels = []
        for f in figures:
            canvas = FigureCanvasAgg(f)
            canvas.draw()
            pixels.append(np.asarray(canvas.buffer_rgba())[:, :, :3].transpose(2, 0, 1))
            if close:
                plt.close(f)
        if isinstance(figure, list):
            self.add_images(tag, np.stack(pixels), global_step, walltime, dataformats="NCHW")
        else:
            self.add_image(tag, pixels[0], global_step, walltime, dataformats="CHW")

    def add_video(self, tag, vid_tensor, global_step=None, fps=4, walltime=None):
        """n x time x channel x height x width, as an animation."""
        self._add(_summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(self, tag, snd_tensor, global_step=None, sample_rate=44100, walltime=None):
        """Samples from -1 to 1."""
        self._add(_summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_mesh(self, tag, vertices, colors=None, faces=None, config_dict=None, global_step=None, walltime=None):
        raise NotImplementedError("ctsc writes no meshes for TensorBoard")

    # ---- graphs and embeddings --------------------------------------------------------------------------------------------------------------------

    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """The operators of a module, as it is traced with input_to_model (a tensor, or a tuple of arguments)."""
        from ._graph import graph_def
        if verbose:
            print(model)
        self._get_file_writer().add_graph(graph_def(model, input_to_model, use_strict_trace))

    def add_onnx_graph(self, prototxt):
        raise NotImplementedError("ctsc view draws ONNX files; ctsc writes none for TensorBoard")

    def add_embedding(self, mat, metadata=None, label_img=None, global_step=None, tag="default", metadata_header=None):
        """Points of the projector: a row of mat each, with a label (metadata; columns of metadata_header) and an image."""
        place = "%s/%s" % (str(0 if global_step is None else global_step).zfill(5), "".join(c if c.isalnum() else "_" for c in tag))
        folder = os.path.join(self._get_file_writer().get_logdir(), *place.split("/"))
        _summary.write_embedding(folder, mat, metadata, metadata_header, label_img)
        path = os.path.join(self.get_logdir(), "projector_config.pbtxt")
        config = ProjectorConfig()
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                text_format.Parse(f.read(), config)
        name = "%s:%s" % (tag, str(0 if global_step is None else global_step).zfill(5))
        e = next((e for e in config.embeddings if e.tensor_name == name), None) or config.embeddings.add()
        e.tensor_name, e.tensor_path = name, place + "/tensors.tsv"
        e.metadata_path = place + "/metadata.tsv" if metadata is not None else ""
        if label_img is not None:
            e.sprite.image_path = place + "/sprite.png"
            e.sprite.single_image_dim[:] = [label_img.shape[3], label_img.shape[2]]
        with open(path, "w", encoding="utf-8") as f:
            f.write(text_format.MessageToString(config))

    # ---- the end ----------------------------------------------------------------------------------------------------------------------------------

    def flush(self):
        """Returns when all events are in their files."""
        for w in (self.all_writers or {}).values():
            w.flush()

    def close(self):
        """Flushes and closes the files. The next event opens another one."""
        for w in (self.all_writers or {}).values():
            w.flush()
            w.close()
        self.file_writer = self.all_writers = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
