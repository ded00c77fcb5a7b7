# SPDX-License-Identifier: Apache-2.0
"""More small networks of transformers' architectures, with random weights: a family each."""
import torch

from cases_language import DECODER, SMALL, ids, only_ids, text


def image(size=32):
    return lambda: ((), {"pixel_values": torch.randn(1, 3, size, size)})


VISION = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37, image_size=32, patch_size=8)


def cases():
    try:
        import transformers as t
    except ImportError as e:
        print("without transformers: %s" % e)
        return {}

    def net(cls, config, **kw):
        return lambda: getattr(t, cls)(getattr(t, config)(**kw))

    return {
        "patchtst": dict(module=net("PatchTSTForPrediction", "PatchTSTConfig", num_input_channels=2, context_length=32, patch_length=8, patch_stride=8, prediction_length=4, d_model=16, num_hidden_layers=2, num_attention_heads=2, ffn_dim=16), args=lambda: ((), {"past_values": torch.randn(2, 32, 2)})),
        "funnel": dict(module=net("FunnelModel", "FunnelConfig", vocab_size=99, block_sizes=[1, 1], num_decoder_layers=1, d_model=32, n_head=4, d_head=8, d_inner=37), args=text(2, 8)),
        "funnel.base": dict(module=net("FunnelBaseModel", "FunnelConfig", vocab_size=99, block_sizes=[1, 2, 1], num_decoder_layers=1, d_model=32, n_head=4, d_head=8, d_inner=37), args=text(2, 8)),
        "deberta": dict(module=net("DebertaModel", "DebertaConfig", relative_attention=True, pos_att_type=["c2p", "p2c"], **SMALL), args=text()),
        "mobilebert": dict(module=net("MobileBertModel", "MobileBertConfig", vocab_size=99, hidden_size=32, embedding_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37, intra_bottleneck_size=32, max_position_embeddings=64), args=text()),
        "mamba2": dict(module=net("Mamba2ForCausalLM", "Mamba2Config", vocab_size=99, hidden_size=32, num_hidden_layers=2, state_size=8, num_heads=8, head_dim=8, n_groups=2, chunk_size=4, use_cache=False), args=only_ids()),
        "gemma2": dict(module=net("Gemma2ForCausalLM", "Gemma2Config", head_dim=8, **DECODER), args=text()),
        "gemma3": dict(module=net("Gemma3ForCausalLM", "Gemma3TextConfig", head_dim=8, **DECODER), args=text()),
        "qwen2_moe": dict(module=net("Qwen2MoeForCausalLM", "Qwen2MoeConfig", moe_intermediate_size=16, shared_expert_intermediate_size=16, num_experts=4, num_experts_per_tok=2, **DECODER), args=text()),
        "olmo2": dict(module=net("Olmo2ForCausalLM", "Olmo2Config", **DECODER), args=text()),
        "phi3": dict(module=net("Phi3ForCausalLM", "Phi3Config", **DECODER), args=text()),
        "stablelm": dict(module=net("StableLmForCausalLM", "StableLmConfig", **DECODER), args=text()),
        "starcoder2": dict(module=net("Starcoder2ForCausalLM", "Starcoder2Config", **DECODER), args=text()),
        "granite": dict(module=net("GraniteForCausalLM", "GraniteConfig", **DECODER), args=text()),
        "cohere": dict(module=net("CohereForCausalLM", "CohereConfig", **DECODER), args=text()),
        "gptj": dict(module=net("GPTJForCausalLM", "GPTJConfig", vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64, rotary_dim=4, use_cache=False), args=text()),
        "xlnet": dict(module=net("XLNetModel", "XLNetConfig", vocab_size=99, d_model=32, n_layer=2, n_head=4, d_inner=37, use_mems_eval=False), args=text()),
        "bigbird": dict(module=net("BigBirdModel", "BigBirdConfig", attention_type="original_full", **SMALL), args=text()),
        "fnet": dict(module=net("FNetModel", "FNetConfig", vocab_size=99, hidden_size=32, num_hidden_layers=2, intermediate_size=37, max_position_embeddings=64), args=only_ids()),
        "modernbert": dict(module=net("ModernBertModel", "ModernBertConfig", **dict(SMALL, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)), args=text()),
        "squeezebert": dict(module=net("SqueezeBertModel", "SqueezeBertConfig", embedding_size=32, q_groups=2, k_groups=2, v_groups=2, post_attention_groups=1, intermediate_groups=1, output_groups=1, **dict(SMALL, intermediate_size=32)), args=text()),
        "convbert": dict(module=net("ConvBertModel", "ConvBertConfig", embedding_size=16, **SMALL), args=text()),
        "camembert": dict(module=net("CamembertModel", "CamembertConfig", **SMALL), args=text()),
        "layoutlm": dict(module=net("LayoutLMModel", "LayoutLMConfig", **SMALL), args=text()),
        "pegasus": dict(module=net("PegasusModel", "PegasusConfig", vocab_size=99, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=37, decoder_ffn_dim=37, max_position_embeddings=64, use_cache=False), args=lambda: ((), dict(ids(), decoder_input_ids=torch.randint(3, 90, (2, 5))))),
        "beit": dict(module=net("BeitModel", "BeitConfig", **VISION), args=image()),
        "vit_msn": dict(module=net("ViTMSNModel", "ViTMSNConfig", **VISION), args=image()),
        "yolos": dict(module=net("YolosModel", "YolosConfig", num_detection_tokens=3, **dict(VISION, image_size=[32, 32])), args=image()),
        "pvt": dict(module=net("PvtV2Model", "PvtV2Config", image_size=32, hidden_sizes=[8, 8, 16, 16], num_attention_heads=[1, 1, 2, 2], depths=[1, 1, 1, 1], mlp_ratios=[2, 2, 2, 2]), args=image(64)),
        "poolformer": dict(module=net("PoolFormerModel", "PoolFormerConfig", hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1]), args=image(64)),
        "mobilevit": dict(module=net("MobileViTModel", "MobileViTConfig", image_size=64, hidden_sizes=[16, 16, 16], neck_hidden_sizes=[8, 8, 8, 8, 8, 8, 16], num_attention_heads=2), args=image(64)),
        "swinv2": dict(module=net("Swinv2Model", "Swinv2Config", image_size=32, patch_size=2, embed_dim=16, depths=[1, 2], num_heads=[2, 2], window_size=2), args=image()),
        "convnextv2": dict(module=net("ConvNextV2Model", "ConvNextV2Config", hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 2, 1]), args=image(64)),
        "dinov2reg": dict(module=net("Dinov2WithRegistersModel", "Dinov2WithRegistersConfig", **dict(VISION, mlp_ratio=2)), args=image()),
        "hubert": dict(module=net("HubertModel", "HubertConfig", vocab_size=32, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20, conv_dim=[8, 8], conv_stride=[4, 2], conv_kernel=[8, 3], num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2), args=lambda: ((torch.randn(1, 800),), {})),
        "ast": dict(module=net("ASTModel", "ASTConfig", hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37, patch_size=4, max_length=24, num_mel_bins=16, frequency_stride=4, time_stride=4), args=lambda: ((), {"input_values": torch.randn(1, 24, 16)})),
        "siglip": dict(module=lambda: t.SiglipModel(t.SiglipConfig(text_config=dict(SMALL, eos_token_id=2, bos_token_id=1, pad_token_id=0), vision_config=VISION)), args=lambda: ((), {"input_ids": torch.randint(3, 90, (2, 7)), "pixel_values": torch.randn(2, 3, 32, 32)})),
        "patchtsmixer": dict(module=net("PatchTSMixerForPrediction", "PatchTSMixerConfig", context_length=32, patch_length=8, patch_stride=8, num_input_channels=2, prediction_length=4, d_model=8, num_layers=2), args=lambda: ((), {"past_values": torch.randn(2, 32, 2)})),
        "rwkv": dict(module=net("RwkvModel", "RwkvConfig", vocab_size=99, hidden_size=32, num_hidden_layers=2, attention_hidden_size=32, intermediate_size=37, context_length=32), args=only_ids()),
    }
