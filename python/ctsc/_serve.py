# SPDX-License-Identifier: Apache-2.0
"""_serve.py - serve: programs and functions of this process, over HTTP, by the Open Inference Protocol v2 (JSON).

For notebooks, tests and services that live in Python. The server that is made for load, with folders of models, batches and binary tensors, is `ctsc serve` (docs/serve.md).
Methods run without Python's lock, so that requests run at the same time; functions of Python do not.
"""
import inspect
import json
import math
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from . import _C
from ._functions import tensor

# Those that JSON has numbers for.
_DTYPES = {d._wire: d for d in _C.dtypes if d._wire and d._computed and d not in (_C.float16, _C.bfloat16)}
_OF = {dtype: name for name, dtype in _DTYPES.items()}
_LARGEST = 64 << 20


class _Refused(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def _flat(data):
    for x in data if isinstance(data, list) else [data]:
        if isinstance(x, list):
            yield from _flat(x)
        else:
            yield math.nan if x is None else x


def _decoded(given):
    try:
        name, shape, kind, data = given["name"], given["shape"], given["datatype"], list(_flat(given["data"]))
        count = math.prod(shape)
        if not isinstance(name, str) or any(not isinstance(n, int) or n < 0 for n in shape):
            raise TypeError
    except (KeyError, TypeError, RecursionError):
        raise _Refused(400, "an input has a name, a shape, a datatype and data") from None
    if kind not in _DTYPES:
        raise _Refused(400, "datatype %s is not supported" % kind)
    if count != len(data):
        raise _Refused(400, "input '%s': %d numbers for shape %s" % (name, len(data), shape))
    try:
        return name, tensor(data, dtype=_DTYPES[kind]).reshape(shape)
    except (TypeError, ValueError, OverflowError, RuntimeError) as e:
        raise _Refused(400, "input '%s': %s" % (name, e)) from None


def _encoded(name, value):
    t = value if isinstance(value, _C.Tensor) else tensor(value)
    t = t.detach().cpu()
    t = t.float() if t.dtype in (_C.float16, _C.bfloat16) else t
    if t.dtype not in _OF:
        raise _Refused(500, "output '%s': %s has no datatype" % (name, t.dtype))
    data = t.reshape(-1).tolist()
    if t.dtype.is_floating_point:
        data = [x if math.isfinite(x) else None for x in data]
    return {"name": name, "shape": list(t.shape), "datatype": _OF[t.dtype], "data": data}


def _named(result):
    if isinstance(result, dict):
        return [(str(k), v) for k, v in result.items()]
    if hasattr(result, "_fields"):
        return list(zip(result._fields, result))
    items = result if isinstance(result, (tuple, list)) else [result]
    return [("output__%d" % i, v) for i, v in enumerate(items)]


class _Model:
    def __init__(self, f, method):
        self.program = isinstance(f, _C.ScriptModule) or isinstance(getattr(f, "_module", None), _C.ScriptModule)
        self.call = getattr(f, method) if method != "forward" else f
        if self.program:
            arguments = (f if isinstance(f, _C.ScriptModule) else f._module).signature(method)[0]
            self.names, self.needed = [a[0] for a in arguments], [a[0] for a in arguments if a[2] is Ellipsis]
        else:
            given = [p for p in inspect.signature(getattr(f, "forward", f)).parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
            self.names, self.needed = [p.name for p in given], [p.name for p in given if p.default is p.empty]

    def about(self, name):
        return {"name": name, "versions": ["1"], "platform": "ctsc_torchscript" if self.program else "ctsc_python",
                "inputs": [{"name": n, "datatype": "", "shape": []} for n in self.names], "outputs": []}

    def infer(self, request):
        inputs = request.get("inputs") if isinstance(request, dict) else None
        if not isinstance(inputs, list):
            raise _Refused(400, "a request has inputs")
        given = {}
        for i, one in enumerate(inputs):
            name, t = _decoded(one)
            if name == "input__%d" % i and i < len(self.names):
                name = self.names[i]
            if name in given or name not in self.names:
                raise _Refused(400, "there is no input '%s'" % name if name not in self.names else "input '%s' is given twice" % name)
            given[name] = t
        missing = [n for n in self.needed if n not in given]
        if missing:
            raise _Refused(400, "input '%s' is missing" % missing[0])
        try:
            with _no_grad():
                result = self.call(**given)
        except _C.LimitError as e:
            raise _Refused(504, e.message) from e
        except Exception as e:
            raise _Refused(400, getattr(e, "message", None) or str(e) or type(e).__name__) from e
        return [_encoded(n, v) for n, v in _named(result)]


def _no_grad():
    from .autograd import no_grad
    return no_grad()


class _Handler(BaseHTTPRequestHandler):
    protocol_version, timeout = "HTTP/1.1", 60

    def log_message(self, *args):
        pass

    def _answer(self, status, what):
        body = json.dumps(what).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _handle(self, post):
        try:
            self._answer(200, self._found(post))
        except _Refused as e:
            self.close_connection |= post and e.status != 400
            self._answer(e.status, {"error": str(e)})
        except ConnectionError:
            self.close_connection = True

    def _body(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdigit():
            self.close_connection = True
            raise _Refused(411, "a body needs its length")
        if int(length) > _LARGEST:
            raise _Refused(413, "the body is too large")
        raw = self.rfile.read(int(length))
        try:
            return json.loads(raw)
        except (ValueError, RecursionError):
            raise _Refused(400, "the body is not JSON") from None

    def _found(self, post):
        models, parts = self.server.models, self.path.partition("?")[0].strip("/").split("/")
        body = self._body() if post else None
        if parts == ["v2"]:
            return {"name": "ctsc", "version": _C.__version__, "extensions": []}
        if parts in (["v2", "health", "live"], ["v2", "health", "ready"]):
            return {}
        if len(parts) >= 3 and parts[:2] == ["v2", "models"]:
            name, rest = parts[2], parts[3:]
            rest = rest[2:] if rest[:1] == ["versions"] and rest[1:2] == ["1"] else rest
            if name not in models:
                raise _Refused(404, "there is no model '%s'" % name)
            if post and rest == ["infer"]:
                answer = {"model_name": name, "model_version": "1", "outputs": models[name].infer(body)}
                if isinstance(body.get("id"), str):
                    answer["id"] = body["id"]
                return answer
            if not post and rest in ([], ["ready"]):
                return models[name].about(name) if not rest else {}
        raise _Refused(404, "there is nothing at %s" % self.path)

    def do_GET(self):
        self._handle(False)

    def do_POST(self):
        self._handle(True)


class Server:
    """A server that runs: url, port; close(), or the end of a with block, ends it when what it answers is answered."""

    def __init__(self, models, host, port):
        self._http = ThreadingHTTPServer((host, port), _Handler)
        self._http.models, self._http.daemon_threads = models, True
        self.host, self.port = self._http.server_address[:2]
        self.url = "http://%s:%d" % (self.host, self.port)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def wait(self):
        """Until close(), or Ctrl-C."""
        try:
            while self._thread.is_alive():
                self._thread.join(0.5)
        finally:
            self.close()

    def close(self):
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __repr__(self):
        return "<ctsc.Server %s: %s>" % (self.url, ", ".join(self._http.models))


def serve(models, *, host="127.0.0.1", port=8000, method="forward", block=False):
    """Serves a program, an nn.Module or a function, or several by name in a dict, and returns the Server; block: until Ctrl-C. port 0: a free one."""
    if not isinstance(models, dict):
        models = {"model": models}
    server = Server({name: _Model(f, method) for name, f in models.items()}, host, port)
    if block:
        server.wait()
    return server
