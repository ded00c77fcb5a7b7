#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The public client of the Open Inference Protocol, tritonclient[http,grpc] from PyPI, against `ctsc serve`, as it is.

    python3 tests/serve/triton.py --ctsc build/ctsc [--site FOLDER]

FOLDER is where `pip install --target FOLDER 'tritonclient[http,grpc]'` put it (make test-triton does). Without the client: skipped; gRPC is skipped
where grpcio or libctsc-grpc.so (make grpc) is missing.
"""
import argparse
import json
import os
import queue
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import client  # noqa: E402


def check(http, np, s):
    c = http.InferenceServerClient("127.0.0.1:%d" % s.port, concurrency=4)
    assert c.is_server_live() and c.is_server_ready() and c.is_model_ready("rows") and c.is_model_ready("rows", "1")
    assert not c.is_model_ready("none")
    assert c.get_server_metadata()["name"] == "ctsc"
    assert [i["name"] for i in c.get_model_metadata("rows")["inputs"]] == ["A", "B"]
    assert c.get_model_config("rows")["max_batch_size"] == 8
    assert any(m["name"] == "rows" and m["state"] == "READY" for m in c.get_model_repository_index())
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.full((2, 3), 2, dtype=np.float32)
    for binary_in in (True, False):
        for outputs in (None, True, False):
            inputs = [http.InferInput("A", [2, 3], "FP32"), http.InferInput("B", [2, 3], "FP32")]
            inputs[0].set_data_from_numpy(a, binary_data=binary_in)
            inputs[1].set_data_from_numpy(b, binary_data=binary_in)
            wanted = None if outputs is None else [http.InferRequestedOutput(n, binary_data=outputs) for n in ("SUM", "DOT")]
            r = c.infer("rows", inputs, outputs=wanted, request_id="q1", model_version="1")
            assert r.get_response()["id"] == "q1"
            assert np.array_equal(r.as_numpy("SUM"), a + b) and np.array_equal(r.as_numpy("DOT"), (a * b).sum(1))
    pending = [c.async_infer("rows", inputs) for _ in range(20)]
    assert all(np.array_equal(p.get_result().as_numpy("SUM"), a + b) for p in pending)
    inputs = [http.InferInput(n, [1], t) for n, t in (("n", "INT64"), ("f", "FP64"), ("flag", "BOOL"), ("text", "BYTES"))]
    items = http.InferInput("items", [2], "INT64")
    for i, v in zip(inputs + [items], (np.array([5]), np.array([1.5]), np.array([True]), np.array([b"hello"], dtype=object), np.array([7, 8]))):
        i.set_data_from_numpy(v)
    r = c.infer("typed", inputs + [items])
    assert r.as_numpy("output__0")[0] == 12 and r.as_numpy("output__3")[0] == b"hello!" and r.as_numpy("a")[0] == 1.5
    half = http.InferInput("x", [3], "FP32")
    half.set_data_from_numpy(np.array([1, 2, 3], dtype=np.float32))
    assert c.infer("half", [half]).as_numpy("output__0").dtype == np.float16
    bad = http.InferInput("A", [1, 4], "FP32")
    bad.set_data_from_numpy(np.zeros((1, 4), dtype=np.float32))
    try:
        c.infer("rows", [bad])
        raise AssertionError("a wrong shape was taken")
    except client_error(http) as e:
        assert "must have the shape" in str(e), e
    assert c.get_inference_statistics("rows")["model_stats"][0]["inference_stats"]["success"]["count"] >= 26
    assert len(c.get_inference_statistics()["model_stats"]) >= 3
    c.unload_model("typed")
    assert not c.is_model_ready("typed")
    c.load_model("typed")
    assert c.is_model_ready("typed")
    c.load_model("typed", config='{"outputs": [{"name": "first"}]}')
    assert c.infer("typed", inputs + [items]).as_numpy("first")[0] == 12
    c.close()


def client_error(_):
    from tritonclient.utils import InferenceServerException
    return InferenceServerException


# ---- gRPC --------------------------------------------------------------------------------------------------------------


def fails(call, words, *codes):
    """call() raises tritonclient's exception, or gRPC's, with these words and one of these codes."""
    import grpc as g
    from tritonclient.utils import InferenceServerException
    try:
        call()
    except InferenceServerException as e:
        assert words in e.message() and (not codes or e.status() in ["StatusCode." + c for c in codes]), e
    except g.RpcError as e:
        assert words in e.details() and (not codes or e.code().name in codes), e
    else:
        raise AssertionError("no error with " + words)


def tensor(grpc, name, array, datatype):
    out = grpc.InferInput(name, list(array.shape), datatype)
    out.set_data_from_numpy(array)
    return out


def check_grpc(grpc, np, s):
    c = grpc.InferenceServerClient("127.0.0.1:%d" % s.grpc_port)
    assert c.is_server_live() and c.is_server_ready() and c.is_model_ready("rows") and c.is_model_ready("rows", "1")
    assert not c.is_model_ready("none")
    about = c.get_server_metadata()
    assert about.name == "ctsc" and "statistics" in about.extensions
    assert [(i.name, i.datatype, list(i.shape)) for i in c.get_model_metadata("rows").inputs] == [("A", "FP32", [-1, 3]), ("B", "FP32", [-1, 3])]
    assert c.get_model_metadata("rows", "1").versions == ["1"]
    config = c.get_model_config("rows").config
    assert config.max_batch_size == 8 and config.dynamic_batching.max_queue_delay_microseconds == 20000 and config.backend == "ctsc"
    assert any(m.name == "rows" and m.state == "READY" for m in c.get_model_repository_index().models)
    fails(lambda: c.get_model_metadata("none"), "no model 'none'", "NOT_FOUND")
    fails(lambda: c.get_model_metadata("rows", "7"), "no such version", "NOT_FOUND")
    fails(lambda: c.get_model_metadata("rows/config"), "no model", "NOT_FOUND")
    fails(lambda: c.get_model_metadata(""), "no model", "NOT_FOUND")

    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.full((2, 3), 2, dtype=np.float32)
    inputs = [tensor(grpc, "A", a, "FP32"), tensor(grpc, "B", b, "FP32")]
    for wanted in (None, ["SUM", "DOT"], ["DOT"]):
        r = c.infer("rows", inputs, outputs=wanted and [grpc.InferRequestedOutput(n) for n in wanted], request_id="q\"1", model_version="1")
        assert r.get_response().id == 'q"1' and r.get_response().model_name == "rows" and r.get_response().model_version == "1"
        assert np.array_equal(r.as_numpy("DOT"), (a * b).sum(1))
        assert np.array_equal(r.as_numpy("SUM"), a + b) if wanted != ["DOT"] else r.as_numpy("SUM") is None
    answers, done = [], threading.Event()
    for _ in range(40):
        c.async_infer("rows", inputs, lambda result, error: (answers.append((result, error)), len(answers) == 40 and done.set()))
    assert done.wait(30) and all(e is None and np.array_equal(r.as_numpy("SUM"), a + b) for r, e in answers)
    stats = c.get_inference_statistics("rows").model_stats[0]
    assert stats.inference_count >= 86 and stats.execution_count < stats.inference_stats.success.count >= 43 and len(stats.batch_stats) > 1, stats
    assert len(c.get_inference_statistics().model_stats) >= 3

    typed = [tensor(grpc, n, v, t) for n, v, t in (("n", np.array([5]), "INT64"), ("f", np.array([1.5]), "FP64"), ("flag", np.array([True]), "BOOL"),
                                                   ("text", np.array([b"hello"], dtype=object), "BYTES"), ("items", np.array([7, 8]), "INT64"))]
    r = c.infer("typed", typed)
    assert r.as_numpy("output__0")[0] == 12 and not r.as_numpy("output__2")[0] and r.as_numpy("output__3")[0] == b"hello!" and r.as_numpy("a")[0] == 1.5
    x = np.array([1, 2, 3], dtype=np.float32)
    assert c.infer("half", [tensor(grpc, "x", x, "FP32")]).as_numpy("output__0").dtype == np.float16
    six = [np.array([1, -2], dtype=t) for t in (np.float16, np.int8, np.int16, np.int32)] + [np.array([3, 200], dtype=np.uint8), np.zeros((0, 4), np.float64)]
    names = ("FP16", "INT8", "INT16", "INT32", "UINT8", "FP64")
    r = c.infer("numbers", [tensor(grpc, n, v, t) for n, v, t in zip("abcdef", six, names)])
    for i, v in enumerate(six):
        assert np.array_equal(r.as_numpy("output__%d" % i), v) and r.as_numpy("output__%d" % i).dtype == v.dtype, i
    try:
        import ml_dtypes
        r = c.infer("double", [tensor(grpc, "x", x.astype(ml_dtypes.bfloat16), "BF16")])
        assert r.get_response().outputs[0].datatype == "BF16" and np.array_equal(r.as_numpy("output__0").astype(np.float32), 2 * x)
    except ImportError:
        pass  # check_grpc_messages has BF16 as well

    fails(lambda: c.infer("rows", [tensor(grpc, "A", np.zeros((1, 4), np.float32), "FP32")]), "must have the shape", "INVALID_ARGUMENT")
    fails(lambda: c.infer("rows", inputs, outputs=[grpc.InferRequestedOutput("none")]), "no output 'none'", "INVALID_ARGUMENT")
    fails(lambda: c.infer("rows", inputs, sequence_id=5), "sequences are not supported", "INVALID_ARGUMENT")
    fails(lambda: c.infer("rows", inputs, outputs=[grpc.InferRequestedOutput("SUM", class_count=2)]), "classification is not supported", "INVALID_ARGUMENT")
    fails(lambda: c.infer("none", inputs), "no model 'none'", "NOT_FOUND")
    fails(lambda: c.infer("rows", inputs, compression_algorithm="gzip"), "compressed", "UNIMPLEMENTED")
    fails(lambda: c.get_trace_settings(), "no such method", "UNIMPLEMENTED")

    c.unload_model("typed")
    assert not c.is_model_ready("typed")
    fails(lambda: c.infer("typed", typed), "not ready", "UNAVAILABLE")
    c.load_model("typed")
    assert c.is_model_ready("typed")
    c.load_model("typed", config='{"outputs": [{"name": "first"}]}')
    assert c.infer("typed", typed).as_numpy("first")[0] == 12
    fails(lambda: c.load_model("typed", config="{}", files={"file:1/model.pt": b"x"}), "from the server's folder alone", "INVALID_ARGUMENT")
    c.close()


def check_grpc_time(grpc, np, s):
    """Deadlines and cancelled calls stop what runs; a full queue is told."""
    c = grpc.InferenceServerClient("127.0.0.1:%d" % s.grpc_port)
    n = np.eye(64, dtype=np.float32)
    long = [tensor(grpc, "x", n, "FP32"), tensor(grpc, "n", np.array([100000000]), "INT64")]
    fails(lambda: c.infer("slow", long), "timed out while the model ran", "DEADLINE_EXCEEDED")  # the model's own
    begin = time.time()
    fails(lambda: c.infer("sleepy", long, client_timeout=0.3), "", "DEADLINE_EXCEEDED")
    fails(lambda: c.infer("sleepy", long, timeout=200000), "timed out", "DEADLINE_EXCEEDED")
    answers = []
    call = c.async_infer("sleepy", long, lambda result, error: answers.append(error))
    time.sleep(0.3)
    call.cancel()
    end = time.time() + 10
    while "ctsc_requests_running{model=\"sleepy\",version=\"1\"} 0" not in s.ask("GET", "/metrics")[2].decode() and time.time() < end:
        time.sleep(0.05)
    assert time.time() - begin < 10, "a cancelled call runs on"
    counts = [0, 0]

    def count(result, error):
        counts[0 if error is None or "queue is full" not in error.message() else 1] += 1
    for _ in range(8):
        c.async_infer("slow", long, count)
    end = time.time() + 20
    while sum(counts) < 8 and time.time() < end:
        time.sleep(0.05)
    assert sum(counts) == 8 and counts[1] >= 4, counts
    c.close()


def check_grpc_stream(grpc, np, s):
    c = grpc.InferenceServerClient("127.0.0.1:%d" % s.grpc_port)
    answers = queue.Queue()
    c.start_stream(lambda result, error: answers.put((result, error)))
    x = np.array([1, 2], dtype=np.float32)
    for i in range(20):
        c.async_stream_infer("double", [tensor(grpc, "x", x + i, "FP32")], request_id=str(i))
    for i in range(20):
        result, error = answers.get(timeout=20)
        assert error is None and result.get_response().id == str(i) and np.array_equal(result.as_numpy("output__0"), 2 * (x + i))
    c.async_stream_infer("none", [tensor(grpc, "x", x, "FP32")])
    result, error = answers.get(timeout=20)
    assert result is None and "no model 'none'" in error.message()
    c.async_stream_infer("double", [tensor(grpc, "x", x, "FP32")])  # the stream goes on
    assert answers.get(timeout=20)[1] is None
    c.stop_stream()
    c.close()


def check_grpc_messages(s, max_body):
    """Messages as they are on the wire: typed contents, mistakes, damage, health."""
    import grpc as g
    from tritonclient.grpc import service_pb2 as pb
    with g.insecure_channel("127.0.0.1:%d" % s.grpc_port, options=[("grpc.max_send_message_length", -1)]) as channel:
        def call(name, request, answer=None):
            f = channel.unary_unary(name, request_serializer=lambda m: m if isinstance(m, bytes) else m.SerializeToString(),
                                    response_deserializer=answer.FromString if answer else None)
            return f(request, timeout=20)

        def infer(request):
            return call("/inference.GRPCInferenceService/ModelInfer", request, pb.ModelInferResponse)

        def typed(model, **contents):
            r = pb.ModelInferRequest(model_name=model)
            for name, (datatype, field, values) in contents.items():
                i = r.inputs.add(name=name, datatype=datatype, shape=[len(values)])
                getattr(i.contents, field).extend(values)
            return r
        r = infer(typed("numbers", a=("BOOL", "bool_contents", [True, False]), b=("INT8", "int_contents", [-128, 127]),
                        c=("UINT8", "uint_contents", [255, 0]), d=("INT64", "int64_contents", [-1, 1 << 40]),
                        e=("FP32", "fp32_contents", [0.5]), f=("FP64", "fp64_contents", [1e300])))
        assert [o.datatype for o in r.outputs] == ["BOOL", "INT8", "UINT8", "INT64", "FP32", "FP64"] and not r.outputs[0].HasField("contents")
        assert list(r.raw_output_contents) == [b"\1\0", b"\x80\x7f", b"\xff\0", struct.pack("<2q", -1, 1 << 40), struct.pack("<f", .5), struct.pack("<d", 1e300)]
        r = infer(typed("typed", n=("INT64", "int64_contents", [5]), f=("FP64", "fp64_contents", [1.5]), flag=("BOOL", "bool_contents", [True]),
                        text=("BYTES", "bytes_contents", [b"h\xc3\xa9"]), items=("INT64", "int64_contents", [7, 8])))
        assert r.raw_output_contents[3] == struct.pack("<I", 4) + b"h\xc3\xa9!"
        half = pb.ModelInferRequest(model_name="double", raw_input_contents=[b"\x80\x3f\x40\xc0"])
        half.inputs.add(name="x", datatype="BF16", shape=[2])
        r = infer(half)
        assert r.outputs[0].datatype == "BF16" and r.raw_output_contents[0] == b"\0\x40\xc0\xc0"
        both = typed("double", x=("FP32", "fp32_contents", [1.0]))
        both.raw_input_contents.append(struct.pack("<f", 1))
        more = typed("double", x=("FP32", "fp32_contents", []))
        more.raw_input_contents.extend([b"", b""])
        short = pb.ModelInferRequest(model_name="double", raw_input_contents=[b"1234"])
        short.inputs.add(name="x", datatype="FP32", shape=[2])
        for request, words in ((typed("double", x=("INT8", "int_contents", [128])), "is no INT8"),
                               (typed("double", x=("FP32", "int_contents", [1])), "not in the field for FP32"),
                               (typed("double", x=("FP16", "fp32_contents", [1.0])), "not in the field for FP16"),
                               (typed("double", x=("COMPLEX", "fp32_contents", [1.0])), "'COMPLEX' is not supported"),
                               (both, "contents beside raw_input_contents"), (more, "2 tensors"), (short, "do not make its shape"),
                               (typed("double"), "is missing"), (b"\x3a\xff\xff", "not a message of this method"), (b"\x0b", "not a message of this method"),
                               (b"\x0a\x05doub", "not a message of this method"), (b"\x2a\x02\x0a\x05", "not a message of this method"),
                               (b"\x3a\0" * 300, "more than 256 tensors")):
            fails(lambda: infer(request), words, "INVALID_ARGUMENT")
        fails(lambda: infer(typed("double", x=("FP32", "fp32_contents", [0.0] * (max_body // 4 + 10)))), "", "RESOURCE_EXHAUSTED", "CANCELLED")
        for field in b"\x22\x2a\x32\x48":  # parameters, inputs, outputs and unknown fields: they would be a hundred times as large in memory
            fails(lambda: infer(bytes([field, 0]) * (max_body // 2 - 10)), "more than 1024 fields", "INVALID_ARGUMENT")
        fails(lambda: infer(b"\x0a\6double" + b"\x22\0" * 65), "more than 64 parameters", "INVALID_ARGUMENT")
        assert infer(typed("double", x=("FP32", "fp32_contents", [1.0]))).raw_output_contents[0] == struct.pack("<f", 2)
        health = "/grpc.health.v1.Health/Check"
        assert call(health, b"") == b"\x08\1" and call(health, b"\x0a\x1einference.GRPCInferenceService") == b"\x08\1"
        fails(lambda: call(health, b"\x0a\4none"), "no service 'none'", "NOT_FOUND")
        fails(lambda: call("/inference.GRPCInferenceService/Nothing", b""), "no such method", "UNIMPLEMENTED")


def check_grpc_fields():
    """The numbers and types of inference.proto are those of tritonclient's messages."""
    from tritonclient.grpc import model_config_pb2, service_pb2 as pb
    with open(os.path.join(client.ROOT, "src/serve/grpc/inference.proto")) as f:
        text = re.sub(r"//.*", "", f.read())
    ours = {name: set(re.findall(r"(repeated )?(\w+) \w+ = (\d+);", body)) for name, body in re.findall(r"message (\w+) \{((?:[^{}]|\{[^}]*\})*)\}", text)}
    theirs = {"Named": "ModelReadyRequest ModelMetadataRequest ModelConfigRequest ModelStatisticsRequest", "Live": "ServerLiveResponse",
              "Ready": "ServerReadyResponse ModelReadyResponse", "ServerMetadata": "ServerMetadataResponse", "Parameter": "InferParameter",
              "TensorMetadata": "ModelMetadataResponse.TensorMetadata", "ModelMetadata": "ModelMetadataResponse", "Contents": "InferTensorContents",
              "Tensor": "ModelInferRequest.InferInputTensor ModelInferResponse.InferOutputTensor", "Wanted": "ModelInferRequest.InferRequestedOutputTensor",
              "ParameterEntry": "ModelInferRequest.ParametersEntry", "InferRequest": "ModelInferRequest", "InferResponse": "ModelInferResponse",
              "StreamResponse": "ModelStreamInferResponse", "DynamicBatching": "ModelDynamicBatching", "ModelConfig": "ModelConfig", "Duration": "StatisticDuration",
              "ConfigResponse": "ModelConfigResponse", "InferStatistics": "InferStatistics", "BatchStatistics": "InferBatchStatistics",
              "ModelStatistics": "ModelStatistics", "StatisticsResponse": "ModelStatisticsResponse", "IndexRequest": "RepositoryIndexRequest",
              "IndexEntry": "RepositoryIndexResponse.ModelIndex", "IndexResponse": "RepositoryIndexResponse", "RepositoryParameter": "ModelRepositoryParameter",
              "RepositoryEntry": "RepositoryModelLoadRequest.ParametersEntry", "RepositoryRequest": "RepositoryModelLoadRequest RepositoryModelUnloadRequest"}
    assert set(ours) == set(theirs) | {"Nothing", "HealthRequest", "HealthResponse"}, set(ours) ^ set(theirs)
    types = {1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 8: "bool", 9: "string", 12: "bytes", 13: "uint32"}
    of_message = {their: our for our, names in theirs.items() for their in names.split()}
    for our, names in theirs.items():
        for name in names.split():
            d = None
            for part in name.split("."):
                found = d.nested_types_by_name if d else dict(pb.DESCRIPTOR.message_types_by_name, **model_config_pb2.DESCRIPTOR.message_types_by_name)
                d = found[part]
            for repeated, kind, number in ours[our]:
                f = d.fields_by_number[int(number)]
                kinds = {types.get(f.type), of_message.get(f.message_type and f.message_type.full_name[len("inference."):])}
                if f.message_type and f.message_type.name == "ParametersEntry":
                    kinds = {"ParameterEntry", "RepositoryEntry"}
                many = getattr(f, "is_repeated", None)
                assert kind in kinds and bool(repeated) == (f.label == 3 if many is None else many), (name, f.name, kind, kinds)


def check_grpc_token(grpc, ctsc, folder, scratch):
    """A token is asked for; the log has calls; the port of another program, and a call that ends with the server."""
    token, log = os.path.join(scratch, "token"), os.path.join(scratch, "log")
    with open(token, "w") as f:
        f.write("secret\n")
    s = client.Server(ctsc, folder, "--grpc=0", "--token-file", token, "--access-log", log, "--no-control")
    try:
        c = grpc.InferenceServerClient("127.0.0.1:%d" % s.grpc_port)
        assert c.is_server_live() and c.is_server_ready()
        fails(lambda: c.get_server_metadata(), "bearer token", "UNAUTHENTICATED")
        fails(lambda: c.get_server_metadata(headers={"authorization": "Bearer secre"}), "bearer token", "UNAUTHENTICATED")
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        headers = {"authorization": "Bearer secret", "traceparent": trace}
        assert c.get_model_metadata("double", headers=headers).name == "double"
        fails(lambda: c.unload_model("double", headers=headers), "no models on request", "PERMISSION_DENIED")
        fails(lambda: c.get_model_metadata("none", headers=headers), "no model", "NOT_FOUND")
        c.start_stream(lambda result, error: None, headers=headers)  # waits for nothing when the server ends
    finally:
        code, text = s.stop()
    assert code == 0, text
    with open(log) as f:
        rows = [json.loads(line) for line in f]
    rows = {(r["path"].split("/")[-1], r["status"]): r for r in rows if r["method"] == "gRPC"}
    assert {("ServerLive", 200), ("ServerMetadata", 401), ("ModelMetadata", 200), ("ModelMetadata", 404)} <= set(rows), rows
    r = rows["ModelMetadata", 200]
    assert r["client"] == "127.0.0.1" and r["traceparent"] == trace and r["received"] == len(b"\x0a\x06double") and r["sent"] > 20
    busy = socket.socket()
    busy.bind(("127.0.0.1", 0))
    busy.listen()
    p = subprocess.run([ctsc, "serve", folder, "--port", "0", "--grpc=%d" % busy.getsockname()[1]], stderr=subprocess.PIPE, text=True, timeout=60)
    assert p.returncode and "cannot listen" in p.stderr, p
    busy.close()


def check_grpc_limits(ctsc, folder):
    """Connections that send nothing, or part of a message, are closed; not more are taken than are allowed."""
    s = client.Server(ctsc, folder, "--grpc=0", "--idle", "2", "--receive", "1", "--max-connections", "4")

    def metrics(*names):
        text = s.ask("GET", "/metrics")[2].decode()
        return [int(re.search(r"^%s (\d+)$" % name, text, re.M).group(1)) for name in names]
    try:
        raw = [socket.create_connection(("127.0.0.1", s.grpc_port), timeout=20) for _ in range(3)]
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
        path = b"/inference.GRPCInferenceService/ModelInfer"
        headers = b"\x83\x86\x04" + bytes([len(path)]) + path + b"\x01\x01a" + b"\x0f\x10\x10application/grpc" + b"\0\x02te\x08trailers"
        headers = bytes([0, 0, len(headers), 1, 4, 0, 0, 0, 1]) + headers
        raw[1].sendall(preface)
        raw[2].sendall(preface + headers + b"\0\0\x06\0\0\0\0\0\1" + b"\0\0\0\0\x40" + b"\x0a")  # one byte of 64
        time.sleep(0.3)
        assert metrics("ctsc_http_connections", "ctsc_grpc_requests_total") == [4, 1]
        for k in raw:
            k.settimeout(20)
            while k.recv(65536):
                pass
            k.close()
        end = time.time() + 20
        while metrics("ctsc_http_connections") != [1] and time.time() < end:  # the one that asks
            time.sleep(0.1)
        assert time.time() < end and metrics("ctsc_http_receive_timeouts_total")[0] >= 1
    finally:
        code, text = s.stop()
    assert code == 0, text


def all_grpc(ctsc, folder, scratch, np):
    try:
        import tritonclient.grpc as grpc
    except ImportError as e:
        print("skipped gRPC: %s" % e)
        return
    max_body = 1 << 20
    try:
        s = client.Server(ctsc, folder, "--grpc=0", "--max-body", str(max_body))
    except AssertionError as e:
        if "there is no libctsc-grpc.so" not in str(e):
            raise
        print("skipped gRPC: libctsc-grpc.so is not built (make grpc)")
        return
    try:
        check_grpc_fields()
        check_grpc(grpc, np, s)
        check_grpc_stream(grpc, np, s)
        check_grpc_messages(s, max_body)
        check_grpc_time(grpc, np, s)
    finally:
        code, text = s.stop()
    assert code == 0, text
    check_grpc_token(grpc, ctsc, folder, scratch)
    check_grpc_limits(ctsc, folder)
    print("ok gRPC")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--ctsc", default=os.path.join(client.ROOT, "build", "ctsc"))
    ap.add_argument("--site", default="")
    args = ap.parse_args()
    if args.site:
        sys.path.insert(0, args.site)
    try:
        import numpy as np
        import tritonclient.http as http
    except ImportError as e:
        print("skipped: %s" % e)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        ctsc = os.path.abspath(args.ctsc)
        folder = client.make_models(ctsc, scratch, ["rows", "typed", "half", "double", "numbers", "slow", "sleepy"])
        s = client.Server(ctsc, folder)
        try:
            check(http, np, s)
        finally:
            code, text = s.stop()
        assert code == 0, text
        all_grpc(ctsc, folder, scratch, np)
    from importlib.metadata import version
    print("ok tritonclient %s" % version("tritonclient"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
