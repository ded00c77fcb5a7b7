# SPDX-License-Identifier: Apache-2.0
"""ray_map.py - maps a model over batches on Ray's workers, which are processes of this machine.

    python3 examples/python/ray_map.py [--workers 2]               needs ray and numpy (PyPI)

The model travels as the bytes of its archive, once, into Ray's object store; one that is named by its file travels as the path, and all workers of a machine share the
memory of its weights.
"""
import argparse
import os

import numpy as np
import ray

import ctsc

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")


class Worker:
    def __init__(self, model):
        self.model = model

    def scores(self, batch):
        """Log-probabilities of one batch's images."""
        return self.model(batch).numpy()

    def pid(self):
        return os.getpid()


def mapped(model, batches, workers):
    """The scores, and the processes that computed them."""
    model = ray.put(model)
    actors = [ray.remote(num_cpus=1)(Worker).remote(model) for _ in range(workers)]
    parts = ray.get([actors[i % workers].scores.remote(batch) for i, batch in enumerate(batches)])
    pids = set(ray.get([actor.pid.remote() for actor in actors]))
    for actor in actors:
        ray.kill(actor)
    return np.concatenate(parts), pids


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    path = os.path.join(MODELS, "digits_cnn.pt")
    images = ctsc.load(os.path.join(MODELS, "digits_test.pt"))[0].numpy()
    labels = ctsc.load(os.path.join(MODELS, "digits_labels.pt")).numpy()
    model = ctsc.load(path)
    want = model(ctsc.from_numpy(images)).numpy()
    batches = np.array_split(images, 8)

    ray.init(num_cpus=args.workers, include_dashboard=False, log_to_driver=False)
    try:
        for sent in (model, ctsc.mapped(path)):
            found, pids = mapped(sent, batches, args.workers)
            assert len(pids) == args.workers and os.getpid() not in pids
            assert np.allclose(found, want, atol=1e-5)
    finally:
        ray.shutdown()
    print("%d images in %d batches on %d workers: accuracy %.4f" % (len(images), len(batches), args.workers, (found.argmax(1) == labels).mean()))


if __name__ == "__main__":
    main()
