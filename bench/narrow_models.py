# SPDX-License-Identifier: Apache-2.0
"""Writes the models that `make bench-narrow` measures, full size, with random weights.

    python3 bench/narrow_models.py FOLDER MODEL...       (today's PyTorch, torchvision, transformers, onnx, onnxruntime, openvino: each for what needs it)

Of each MODEL, where NAME.json is not there yet or something has been installed that was lacking when it was written, files that begin with its NAME:

    bert_128, resnet50, mobilenet_v2     networks of nets/networks.py
    mlp_1, mlp_32                        eight blocks 2048-5632-2048 on so many rows
        NAME.pt, .bf16.pt, .f16.pt       traced, in float32 and converted
        NAME.onnx, .f16.onnx             likewise
        NAME.int8.xml, .int4.xml         (mlp) OpenVINO's form of constant weights of one byte a number, of four bits in groups of 128
        NAME.int8.onnx, .int4.onnx       (mlp) ONNX Runtime's MatMulNBits, likewise
    qwen3_token, qwen3_prefill           a language model of 109 M parameters with a static cache of 256, for a token and for 128
        NAME.bf16.pt2, NAME.pt2          torch.export's archives
        qwen3_TYPE.gguf                  the same weights for llama.cpp: BF16, Q8_0, Q4_0

NAME.npz has arguments (x0, ...) and what PyTorch computed in float32 (y0, ...); NAME.json how many weights there are, and the operations of a call.
"""
import importlib.util
import json
import os
import sys
import warnings

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "nets"))

GROUP = 128  # of weights of four bits that share a scale
WIDTH, INNER, BLOCKS = 2048, 5632, 8
CACHE, PREFILL = 256, 128
QWEN3 = dict(vocab_size=8000, hidden_size=1024, intermediate_size=3072, num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=8, head_dim=64,
             max_position_embeddings=1024, tie_word_embeddings=True)


def save_arrays(base, inputs, results):
    arrays = {"x%d" % i: t.numpy() for i, t in enumerate(inputs)}
    arrays.update({"y%d" % i: t.float().numpy() for i, t in enumerate(results)})
    numpy.savez(base + ".npz", **arrays)


def count(model, inputs):
    """Weights of products, and what a call computes: the sum of PyTorch's operators' operations, two for each multiply-add."""
    from torch.utils.flop_counter import FlopCounterMode
    with FlopCounterMode(display=False) as counter:
        results = model(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    return results, {"weights": sum(p.numel() for p in model.parameters() if p.dim() > 1), "flops": counter.get_total_flops()}


# ---- networks ------------------------------------------------------------------------------------------------


def mlp(rows):
    import torch

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = torch.nn.Linear(WIDTH, INNER, bias=False), torch.nn.Linear(INNER, WIDTH, bias=False)

        def forward(self, x):
            return x + self.down(torch.nn.functional.gelu(self.up(x)))

    torch.manual_seed(rows)
    return torch.nn.Sequential(*[Block() for _ in range(BLOCKS)]), (torch.randn(rows, WIDTH),)


def network(name):
    import torch
    if name.startswith("mlp_"):
        return mlp(int(name[4:]))
    from networks import NETWORKS
    torch.manual_seed(sum(map(ord, name)))
    return NETWORKS[name][0]()


def cast(inputs, dtype):
    return tuple(x.to(dtype) if x.is_floating_point() else x for x in inputs)


def write_network(name, base):
    import torch
    model, inputs = network(name)
    model.eval()
    with torch.no_grad():
        results, said = count(model, inputs)
        save_arrays(base, inputs, results)
        torch.jit.trace(model, inputs, check_trace=False).save(base + ".pt")
        export_onnx(model, inputs, base + ".onnx")
        if name.startswith("mlp_"):
            weights = [p.detach().numpy() for p in model.parameters()]
            attempt(name + ".int8.xml", openvino_weights, base, weights, 8)
            attempt(name + ".int4.xml", openvino_weights, base, weights, 4)
            attempt(name + ".int8.onnx", onnxruntime_weights, base, 8)
            attempt(name + ".int4.onnx", onnxruntime_weights, base, 4)
        for ending, dtype in (("bf16", torch.bfloat16), ("f16", torch.float16)):
            model, few = model.to(dtype), cast(inputs, dtype)
            torch.jit.trace(model, few, check_trace=False).save("%s.%s.pt" % (base, ending))
            if dtype == torch.float16:
                attempt(name + ".f16.onnx", export_onnx, model, few, base + ".f16.onnx")
            model = model.float()  # of bfloat16's weights: nothing is compared but times and the result with float32's
    return said


def export_onnx(model, inputs, path):
    import torch
    torch.onnx.export(model, inputs, path, opset_version=17, input_names=["x%d" % i for i in range(len(inputs))], dynamo=False)


lacking = set()  # packages that files of the present model needed


def attempt(what, make, *args):
    """Files for peers that are not there, or cannot: their cells say so."""
    try:
        make(*args)
    except Exception as e:
        if isinstance(e, ModuleNotFoundError):
            lacking.add(e.name.partition(".")[0])
        print("  %s: %s: %s" % (what, type(e).__name__, str(e).split("\n")[0][:160]), file=sys.stderr)


# ---- weights of few bits ---------------------------------------------------------------------------------------


def openvino_weights(base, weights, bits):
    """Constant of bits, converted to float32, less its zero point for four bits, times its scale: what OpenVINO keeps as it is and multiplies with."""
    import openvino
    from openvino import opset13 as op
    kept = []  # a Tensor does not hold on to the memory that it is made of

    def four_bits(numbers):
        n = numbers.astype(numpy.uint8).reshape(-1)
        kept.append(n[0::2] | n[1::2] << 4)
        return op.convert(op.constant(openvino.Tensor(kept[-1], list(numbers.shape), openvino.Type.u4)), openvino.Type.f32)

    def product(x, w):
        n, k = w.shape
        if bits == 8:
            scale = abs(w).max(1, keepdims=True) / 127
            c = op.constant(numpy.round(w / scale).astype(numpy.int8))
            c = op.multiply(op.convert(c, openvino.Type.f32), op.constant(scale.astype(numpy.float32)))
        else:
            g = w.reshape(n, k // GROUP, GROUP)
            low, high = numpy.minimum(g.min(2, keepdims=True), 0), numpy.maximum(g.max(2, keepdims=True), 0)
            scale = numpy.maximum(high - low, 1e-10) / 15
            zero = numpy.round(-low / scale)
            q = numpy.clip(numpy.round(g / scale) + zero, 0, 15)
            c = op.subtract(four_bits(q), four_bits(zero))
            c = op.reshape(op.multiply(c, op.constant(scale.astype(numpy.float32))), op.constant(numpy.array([n, k])), False)
        return op.matmul(x, c, False, True)

    with numpy.load(base + ".npz") as arrays:
        x = x0 = op.parameter(list(arrays["x0"].shape), openvino.Type.f32)
    for up, down in zip(weights[0::2], weights[1::2]):
        x = op.add(x, product(op.gelu(product(x, up), "erf"), down))
    openvino.save_model(openvino.Model([x], [x0]), "%s.int%d.xml" % (base, bits), compress_to_fp16=False)


def onnxruntime_weights(base, bits):
    import onnx
    from onnxruntime.quantization.matmul_nbits_quantizer import DefaultWeightOnlyQuantConfig, MatMulNBitsQuantizer
    config = DefaultWeightOnlyQuantConfig(block_size=GROUP, is_symmetric=bits == 8, accuracy_level=4, bits=bits)
    quantizer = MatMulNBitsQuantizer(onnx.load(base + ".onnx"), bits=bits, block_size=GROUP, algo_config=config)
    quantizer.process()
    quantizer.model.save_model_to_file("%s.int%d.onnx" % (base, bits), False)


# ---- a language model ----------------------------------------------------------------------------------------------


def qwen3():
    """All numbers are rounded to bfloat16, so that the models of both types are the same."""
    import torch
    from transformers import AutoModelForCausalLM, Qwen3Config
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(Qwen3Config(**QWEN3), attn_implementation="sdpa").eval().float()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(p.bfloat16().float())
    model.generation_config.use_cache = True
    model.generation_config.cache_implementation = "static"
    return model


def write_qwen3(name, base):
    import torch
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache
    n = PREFILL if name.endswith("prefill") else 1
    ids = torch.tensor([[(i * 7919 + 13) % QWEN3["vocab_size"] for i in range(n)]])
    at, said = torch.arange(n), None
    with torch.no_grad():
        for ending, dtype in (("", torch.float32), (".bf16", torch.bfloat16)):
            model = qwen3()
            if not ending and name.endswith("token"):
                attempt("qwen3_*.gguf", write_gguf, model, os.path.dirname(base))
            module = TorchExportableModuleWithStaticCache(model.to(dtype), batch_size=1, max_cache_len=CACHE, device="cpu")
            program = torch.export.export(module, (), {"input_ids": ids, "cache_position": at}, strict=False)
            if not ending:
                results, said = count(module, (ids, None, at))
                save_arrays(base, (ids, at), results)
            torch.export.save(program, base + ending + ".pt2")
    return said


GGUF_NAMES = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
              "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
              "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def gguf_name(name):
    if name in ("model.embed_tokens.weight", "model.norm.weight"):
        return {"e": "token_embd.weight", "n": "output_norm.weight"}[name[6]]
    layer, rest = name.split(".", 3)[2:]
    return "blk.%s.%s.weight" % (layer, GGUF_NAMES[rest[:-len(".weight")]])


def tokens():
    """The 256 letters that a byte-level BPE gives the bytes, pairs of them up to the size of the vocabulary, and the end."""
    keep = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    others = [b for b in range(256) if b not in keep]
    letters = [chr(b) if b in keep else chr(256 + others.index(b)) for b in range(256)]
    pairs = [a + b for a in letters[33:127] for b in letters[33:127]]
    return (letters + pairs)[:QWEN3["vocab_size"] - 1] + ["<|endoftext|>"]


def write_gguf(model, folder):
    """Every matrix in the named type, the embedding too; norms in float32."""
    import gguf
    weights = {n: p.detach().numpy() for n, p in model.named_parameters() if n != "lm_head.weight"}
    texts = tokens()
    for kind in ("BF16", "Q8_0", "Q4_0"):
        quantised = getattr(gguf.GGMLQuantizationType, kind)
        path = os.path.join(folder, "qwen3_%s.gguf" % kind)
        g = gguf.GGUFWriter(path, "qwen3")
        g.add_file_type(getattr(gguf.LlamaFileType, "MOSTLY_" + kind))
        g.add_context_length(QWEN3["max_position_embeddings"])
        g.add_embedding_length(QWEN3["hidden_size"])
        g.add_block_count(QWEN3["num_hidden_layers"])
        g.add_feed_forward_length(QWEN3["intermediate_size"])
        g.add_head_count(QWEN3["num_attention_heads"])
        g.add_head_count_kv(QWEN3["num_key_value_heads"])
        g.add_key_length(QWEN3["head_dim"])
        g.add_value_length(QWEN3["head_dim"])
        g.add_rope_freq_base((getattr(model.config, "rope_parameters", None) or {}).get("rope_theta", 10000.0))
        g.add_layer_norm_rms_eps(model.config.rms_norm_eps)
        g.add_vocab_size(QWEN3["vocab_size"])
        g.add_tokenizer_model("gpt2")
        g.add_tokenizer_pre("gpt-2")
        g.add_token_list(texts)
        g.add_token_types([1] * (len(texts) - 1) + [3])
        g.add_token_merges([t[0] + " " + t[1] for t in texts[256:-1]])
        g.add_bos_token_id(len(texts) - 1)
        g.add_eos_token_id(len(texts) - 1)
        g.add_add_bos_token(False)
        for name, w in weights.items():
            if w.ndim == 1:
                g.add_tensor(gguf_name(name), w.astype(numpy.float32))
            else:
                g.add_tensor(gguf_name(name), gguf.quants.quantize(w, quantised), raw_dtype=quantised)
        g.write_header_to_file()
        g.write_kv_data_to_file()
        g.write_tensors_to_file()
        g.close()


# ---- all of it -----------------------------------------------------------------------------------------------------


def is_made(path):
    if not os.path.exists(path):
        return False
    with open(path) as f:
        return not any(importlib.util.find_spec(m) for m in json.load(f).get("lacking", []))


def main():
    folder, names = sys.argv[1], sys.argv[2:]
    warnings.filterwarnings("ignore")
    os.makedirs(folder, exist_ok=True)
    for name in names:
        base = os.path.join(folder, name)
        if is_made(base + ".json"):
            continue
        lacking.clear()
        print("  making %s" % name, file=sys.stderr, flush=True)
        said = (write_qwen3 if name.startswith("qwen3_") else write_network)(name, base)
        with open(base + ".new.json", "w") as f:
            json.dump(dict(said, lacking=sorted(lacking)), f)
        os.replace(base + ".new.json", base + ".json")


if __name__ == "__main__":
    main()
