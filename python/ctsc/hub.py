# SPDX-License-Identifier: Apache-2.0
"""hub.py - torch.hub: files by their address, kept in a folder. Repositories with code are not loaded."""
import os
import re
from urllib.parse import urlparse

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")


def _get_torch_home():
    home = os.environ.get("TORCH_HOME", os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.join(os.path.expanduser("~"), ".cache")), "torch"))
    return os.path.expanduser(home)


def get_dir():
    return _dir[0] or os.path.join(_get_torch_home(), "hub")


_dir = [None]


def set_dir(d):
    _dir[0] = os.path.expanduser(d)


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    import hashlib
    import tempfile
    import urllib.request
    sha = hashlib.sha256()
    with urllib.request.urlopen(url) as source, tempfile.NamedTemporaryFile(dir=os.path.dirname(os.path.abspath(dst)), delete=False) as out:
        try:
            while chunk := source.read(1 << 20):
                sha.update(chunk)
                out.write(chunk)
            out.close()
            if hash_prefix is not None and not sha.hexdigest().startswith(hash_prefix):
                raise RuntimeError('invalid hash value (expected "%s", got "%s")' % (hash_prefix, sha.hexdigest()[:len(hash_prefix)]))
            os.replace(out.name, dst)
        finally:
            if os.path.exists(out.name):
                os.remove(out.name)


def load_state_dict_from_url(url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None, weights_only=False):
    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(path):
        found = HASH_REGEX.search(os.path.basename(path)) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None)
    from ._files import load
    return load(path, map_location=map_location, weights_only=weights_only)


def load(repo_or_dir, model, *args, **kwargs):
    raise NotImplementedError("hub.load: ctsc loads files (hub.load_state_dict_from_url, load), no repositories")


class _Progress:
    """In tqdm's place, where it is not installed: counts, and shows nothing."""

    def __init__(self, iterable=None, total=None, **options):
        self._iterable, self.total, self.n = iterable, total, 0

    def update(self, n):
        self.n += n

    def set_description(self, *args, **kwargs):
        pass

    set_postfix = refresh = close = set_description

    def __iter__(self):
        return iter(self._iterable)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass


def __getattr__(name):
    if name != "tqdm":
        raise AttributeError("module 'ctsc.hub' has no attribute '%s'" % name)
    try:
        from tqdm.auto import tqdm
    except ImportError:
        tqdm = _Progress
    globals()[name] = tqdm
    return tqdm
