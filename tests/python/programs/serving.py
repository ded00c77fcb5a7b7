"""A model behind an HTTP server: requests are batched by a thread, answered as JSON; a client asks from several threads."""
import json
import queue
import threading
import urllib.error
import urllib.request
from concurrent.futures import Future, ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 4), nn.Softmax(dim=-1)).eval()
scripted = torch.jit.freeze(torch.jit.script(model))
sizes = []


class Batcher(threading.Thread):
    def __init__(self, f, most=8, wait=0.02):
        super().__init__(daemon=True)
        self.f, self.most, self.wait, self.queue = f, most, wait, queue.Queue()

    def submit(self, x):
        future = Future()
        self.queue.put((x, future))
        return future

    def run(self):
        while True:
            waiting = [self.queue.get()]
            if waiting[0] is None:
                return
            try:
                while len(waiting) < self.most:
                    waiting.append(self.queue.get(timeout=self.wait))
            except queue.Empty:
                pass
            sizes.append(len(waiting))
            try:
                with torch.inference_mode():
                    out = self.f(torch.stack([x for x, _ in waiting]))
                for row, (_, future) in zip(out.unbind(0), waiting):
                    future.set_result(row)
            except Exception as e:
                for _, future in waiting:
                    future.set_exception(e)


batcher = Batcher(scripted)
batcher.start()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            x = torch.as_tensor(body["instances"], dtype=torch.float32)
            scores = batcher.submit(x).result()
            code, answer = 200, {"class": int(scores.argmax()), "scores": [round(v, 4) for v in scores.tolist()]}
        except Exception as e:
            code, answer = 400, {"error": "RuntimeError" if isinstance(e, RuntimeError) else type(e).__name__}
        data = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = "http://127.0.0.1:%d/predict" % server.server_address[1]


def ask(x):
    request = urllib.request.Request(url, json.dumps({"instances": x}).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as r:
            return json.load(r)
    except urllib.error.HTTPError as e:
        return e.code, json.load(e)


inputs = torch.randn(12, 3)
with ThreadPoolExecutor(4) as pool:
    answers = list(pool.map(ask, inputs.tolist()))
for a in answers[:3]:
    print(a)
with torch.no_grad():
    print([a["class"] for a in answers] == model(inputs).argmax(1).tolist(), sum(sizes), max(sizes) <= 8)
print(ask([1.0, 2.0]), ask("text"))
server.shutdown()
batcher.queue.put(None)
batcher.join()
