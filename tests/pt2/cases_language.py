# SPDX-License-Identifier: Apache-2.0
"""Small networks of transformers' architectures, with random weights."""
import torch
from torch.export import Dim


def ids(n=2, length=9):
    return {"input_ids": torch.randint(3, 90, (n, length)), "attention_mask": torch.ones(n, length, dtype=torch.long)}


def text(n=2, length=9):
    return lambda: ((), ids(n, length))


def only_ids(n=2, length=9):
    return lambda: ((), {"input_ids": torch.randint(3, 90, (n, length))})


SMALL = dict(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37, max_position_embeddings=64)
DECODER = dict(SMALL, num_key_value_heads=2, use_cache=False, pad_token_id=0, bos_token_id=1, eos_token_id=2)


def cases():
    try:
        import transformers as t
    except ImportError as e:
        print("without transformers: %s" % e)
        return {}

    def net(cls, config, **kw):
        def make():
            return getattr(t, cls)(getattr(t, config)(**kw))
        return make

    image = lambda size=32: (lambda: ((), {"pixel_values": torch.randn(1, 3, size, size)}))
    vision = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37, image_size=32, patch_size=8)
    seq = {"input_ids": {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}, "attention_mask": {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}}
    t5 = dict(vocab_size=99, d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4, decoder_start_token_id=0, use_cache=False)
    clip_text = dict(SMALL, eos_token_id=2, bos_token_id=1)
    return {
        "bert": dict(module=net("BertModel", "BertConfig", **SMALL), args=text()),
        "bert.dynamic": dict(module=net("BertModel", "BertConfig", **SMALL), args=text(), calls=[text(3, 5), text(2, 12)], dynamic=seq),
        "bert.classify": dict(module=net("BertForSequenceClassification", "BertConfig", **SMALL), args=text()),
        "distilbert": dict(module=net("DistilBertModel", "DistilBertConfig", vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=37), args=text()),
        "roberta": dict(module=net("RobertaModel", "RobertaConfig", **SMALL), args=text()),
        "albert": dict(module=net("AlbertModel", "AlbertConfig", embedding_size=16, **SMALL), args=text()),
        "electra": dict(module=net("ElectraModel", "ElectraConfig", embedding_size=16, **SMALL), args=text()),
        "deberta_v2": dict(module=net("DebertaV2Model", "DebertaV2Config", **SMALL), args=text()),
        "mpnet": dict(module=net("MPNetModel", "MPNetConfig", **SMALL), args=text()),
        "gpt2": dict(module=net("GPT2LMHeadModel", "GPT2Config", vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64, use_cache=False), args=text()),
        "gpt2.cache": dict(module=net("GPT2LMHeadModel", "GPT2Config", vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64, use_cache=False), args=only_ids()),
        "gpt_neox": dict(module=net("GPTNeoXForCausalLM", "GPTNeoXConfig", use_cache=False, **SMALL), args=text()),
        "opt": dict(module=net("OPTForCausalLM", "OPTConfig", vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=37, max_position_embeddings=64, word_embed_proj_dim=32, use_cache=False), args=text()),
        "llama": dict(module=net("LlamaForCausalLM", "LlamaConfig", **DECODER), args=text()),
        "llama.dynamic": dict(module=net("LlamaForCausalLM", "LlamaConfig", **DECODER), args=text(), calls=[text(1, 4), text(3, 17)], dynamic=seq),
        "llama.bf16": dict(module=lambda: net("LlamaForCausalLM", "LlamaConfig", **DECODER)().bfloat16(), args=text(), rtol=5e-2, atol=5e-2),
        "mistral": dict(module=net("MistralForCausalLM", "MistralConfig", **DECODER), args=text()),
        "mixtral": dict(module=net("MixtralForCausalLM", "MixtralConfig", num_local_experts=4, **DECODER), args=text()),
        "qwen2": dict(module=net("Qwen2ForCausalLM", "Qwen2Config", **DECODER), args=text()),
        "qwen3": dict(module=net("Qwen3ForCausalLM", "Qwen3Config", head_dim=8, **DECODER), args=text()),
        "gemma": dict(module=net("GemmaForCausalLM", "GemmaConfig", head_dim=8, **DECODER), args=text()),
        "phi": dict(module=net("PhiForCausalLM", "PhiConfig", **DECODER), args=text()),
        "falcon": dict(module=net("FalconForCausalLM", "FalconConfig", vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, use_cache=False), args=text()),
        "bloom": dict(module=net("BloomForCausalLM", "BloomConfig", vocab_size=99, hidden_size=32, n_layer=2, n_head=4, use_cache=False), args=text()),
        "mamba": dict(module=net("MambaForCausalLM", "MambaConfig", vocab_size=99, hidden_size=32, num_hidden_layers=2, state_size=4, use_cache=False), args=only_ids()),
        "t5.encoder": dict(module=net("T5EncoderModel", "T5Config", **t5), args=text()),
        "t5": dict(module=net("T5ForConditionalGeneration", "T5Config", **t5), args=lambda: ((), dict(ids(), decoder_input_ids=torch.randint(3, 90, (2, 5))))),
        "bart": dict(module=net("BartModel", "BartConfig", vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=37, decoder_ffn_dim=37, max_position_embeddings=64, use_cache=False),
                     args=lambda: ((), dict(ids(), decoder_input_ids=torch.randint(3, 90, (2, 5))))),
        "vit": dict(module=net("ViTModel", "ViTConfig", **vision), args=image()),
        "deit": dict(module=net("DeiTModel", "DeiTConfig", **vision), args=image()),
        "dinov2": dict(module=net("Dinov2Model", "Dinov2Config", **dict(vision, mlp_ratio=2)), args=image()),
        "swin": dict(module=net("SwinModel", "SwinConfig", image_size=32, patch_size=2, embed_dim=16, depths=[1, 2], num_heads=[2, 2], window_size=2), args=image()),
        "convnext": dict(module=net("ConvNextModel", "ConvNextConfig", hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 2, 1]), args=image(64)),
        "resnet": dict(module=net("ResNetModel", "ResNetConfig", embedding_size=8, hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1]), args=image(64)),
        "segformer": dict(module=net("SegformerModel", "SegformerConfig", hidden_sizes=[8, 8, 16, 16], num_attention_heads=[1, 1, 2, 2]), args=image(64)),
        "whisper.encoder": dict(module=lambda: t.models.whisper.modeling_whisper.WhisperEncoder(t.WhisperConfig(d_model=16, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=32, num_mel_bins=8, max_source_positions=20)),
                                args=lambda: ((torch.randn(1, 8, 40),), {})),
        "whisper": dict(module=net("WhisperModel", "WhisperConfig", d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=32, decoder_ffn_dim=32, num_mel_bins=8, max_source_positions=20, max_target_positions=20, vocab_size=99, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3, use_cache=False),
                        args=lambda: ((), {"input_features": torch.randn(1, 8, 40), "decoder_input_ids": torch.randint(3, 90, (1, 4))})),
        "wav2vec2": dict(module=net("Wav2Vec2Model", "Wav2Vec2Config", vocab_size=32, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20, conv_dim=[8, 8], conv_stride=[4, 2], conv_kernel=[8, 3], num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2),
                         args=lambda: ((torch.randn(1, 800),), {})),
        "clip": dict(module=lambda: t.CLIPModel(t.CLIPConfig(text_config=clip_text, vision_config=vision, projection_dim=16)),
                     args=lambda: ((), {"input_ids": torch.randint(3, 90, (2, 7)), "pixel_values": torch.randn(2, 3, 32, 32), "attention_mask": torch.ones(2, 7, dtype=torch.long)})),
        "siglip.vision": dict(module=net("SiglipVisionModel", "SiglipVisionConfig", **vision), args=image()),
        "clip.text": dict(module=net("CLIPTextModel", "CLIPTextConfig", **clip_text), args=text()),
    }
