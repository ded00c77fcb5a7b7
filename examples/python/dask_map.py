# SPDX-License-Identifier: Apache-2.0
"""dask_map.py - maps a model over a partitioned array on a cluster of processes of this machine.

    python3 examples/python/dask_map.py [--workers 2]              needs dask[array] and distributed (PyPI)

The model travels as the bytes of its archive, once to each worker, which keeps it there; so does a model that is named by its file, whose weights all workers of a machine
map, and share the memory of.
"""
import argparse
import os

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

import ctsc

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")


def scores(block, model):
    """Log-probabilities of one partition's images."""
    return model(block).numpy()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    path = os.path.join(MODELS, "digits_cnn.pt")
    images = ctsc.load(os.path.join(MODELS, "digits_test.pt"))[0].numpy()
    labels = ctsc.load(os.path.join(MODELS, "digits_labels.pt")).numpy()
    model = ctsc.load(path)
    want = model(ctsc.from_numpy(images)).numpy()
    array = da.from_array(images, chunks=(50, 1, 8, 8)) # eight partitions

    with LocalCluster(n_workers=args.workers, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        sent = client.scatter(model, broadcast=True) # pickled: the archive's bytes
        parts = client.gather([client.submit(scores, part, sent) for part in client.gather(client.compute([array.blocks[i] for i in range(array.numblocks[0])]))])
        found = np.concatenate(parts)
        lazy = array.map_blocks(scores, ctsc.mapped(path), drop_axis=(2, 3), chunks=(array.chunks[0], (10,)), dtype="float32").compute()
        pids = set(client.run(os.getpid).values())

    assert len(pids) == args.workers and os.getpid() not in pids
    for got in (found, lazy):
        assert np.allclose(got, want, atol=1e-5)
    print("%d images in %d partitions on %d workers: accuracy %.4f" % (len(images), array.numblocks[0], len(pids), (found.argmax(1) == labels).mean()))


if __name__ == "__main__":
    main()
