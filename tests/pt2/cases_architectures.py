# SPDX-License-Identifier: Apache-2.0
"""Still more small networks of transformers' architectures, with random weights: those that torch.export takes."""
import torch
from torch.export import Dim

from cases_families import VISION, image
from cases_language import DECODER, SMALL, ids, only_ids, text


def cases():
    try:
        import transformers as t
    except ImportError as e:
        print("without transformers: %s" % e)
        return {}

    def net(cls, config, **kw):
        return lambda: getattr(t, cls)(getattr(t, config)(**kw))

    out = {}

    def add(name, cls, config, args=None, **kw):
        out["hf." + name] = dict(module=net(cls, config, **kw), args=args or text())

    seq2seq = lambda: ((), dict(ids(), decoder_input_ids=torch.randint(3, 90, (2, 5))))
    enc = {"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 37, "decoder_ffn_dim": 37}
    bart = dict(vocab_size=99, d_model=32, max_position_embeddings=64, use_cache=False, **enc)
    t5 = dict(vocab_size=99, d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4, decoder_start_token_id=0, use_cache=False)
    wav = lambda: ((torch.randn(1, 800),), {})
    w2v = dict(vocab_size=32, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20, conv_dim=[8, 8], conv_stride=[4, 2], conv_kernel=[8, 3], num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2)
    add("xlm_roberta", "XLMRobertaModel", "XLMRobertaConfig", **SMALL)
    add("xlm", "XLMModel", "XLMConfig", vocab_size=99, emb_dim=32, n_layers=2, n_heads=4, max_position_embeddings=64)
    add("flaubert", "FlaubertModel", "FlaubertConfig", vocab_size=99, emb_dim=32, n_layers=2, n_heads=4, max_position_embeddings=64)
    add("bigbird.sparse", "BigBirdModel", "BigBirdConfig", args=text(2, 64), attention_type="block_sparse", block_size=4, num_random_blocks=1, **dict(SMALL, max_position_embeddings=128))
    add("ibert", "IBertModel", "IBertConfig", **SMALL)
    add("rembert", "RemBertModel", "RemBertConfig", input_embedding_size=16, output_embedding_size=16, **SMALL)
    add("roformer", "RoFormerModel", "RoFormerConfig", **SMALL)
    add("splinter", "SplinterModel", "SplinterConfig", **SMALL)
    add("ernie", "ErnieModel", "ErnieConfig", **SMALL)
    add("megatron", "MegatronBertModel", "MegatronBertConfig", **SMALL)
    add("data2vec.text", "Data2VecTextModel", "Data2VecTextConfig", **SMALL)
    add("esm", "EsmModel", "EsmConfig", pad_token_id=1, mask_token_id=4, position_embedding_type="rotary", **SMALL)
    add("canine", "CanineModel", "CanineConfig", args=text(2, 32), downsampling_rate=4, local_transformer_stride=8, **SMALL)
    add("luke", "LukeModel", "LukeConfig", entity_vocab_size=20, entity_emb_size=16, **SMALL)
    add("perceiver", "PerceiverForMaskedLM", "PerceiverConfig", args=lambda: ((), {"inputs": torch.randint(3, 90, (2, 16)), "attention_mask": torch.ones(2, 16, dtype=torch.long)}), vocab_size=99, max_position_embeddings=16, num_latents=8, d_latents=32, d_model=32, num_blocks=1, num_self_attends_per_block=1, num_self_attention_heads=2, num_cross_attention_heads=2, qk_channels=16, v_channels=32)
    add("gpt_neo", "GPTNeoForCausalLM", "GPTNeoConfig", vocab_size=99, hidden_size=32, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]], max_position_embeddings=64, window_size=4, use_cache=False)
    add("gpt_bigcode", "GPTBigCodeForCausalLM", "GPTBigCodeConfig", vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64, use_cache=False)
    add("codegen", "CodeGenForCausalLM", "CodeGenConfig", vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64, rotary_dim=4, use_cache=False)
    add("mpt", "MptForCausalLM", "MptConfig", vocab_size=99, d_model=32, n_layers=2, n_heads=4, max_seq_len=64, use_cache=False)
    add("persimmon", "PersimmonForCausalLM", "PersimmonConfig", **dict(DECODER))
    add("olmo", "OlmoForCausalLM", "OlmoConfig", **DECODER)
    add("deepseek_v2", "DeepseekV2ForCausalLM", "DeepseekV2Config", n_routed_experts=4, num_experts_per_tok=2, n_group=1, topk_group=1, moe_intermediate_size=16, kv_lora_rank=8, q_lora_rank=8, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8, first_k_dense_replace=1, **dict(DECODER, num_key_value_heads=4))
    add("deepseek_v3", "DeepseekV3ForCausalLM", "DeepseekV3Config", n_routed_experts=4, num_experts_per_tok=2, n_group=2, topk_group=1, moe_intermediate_size=16, kv_lora_rank=8, q_lora_rank=8, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8, first_k_dense_replace=1, **dict(DECODER, num_key_value_heads=4))
    add("qwen3_moe", "Qwen3MoeForCausalLM", "Qwen3MoeConfig", head_dim=8, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, **DECODER)
    add("recurrent_gemma", "RecurrentGemmaForCausalLM", "RecurrentGemmaConfig", args=only_ids(), lru_width=32, attention_window_size=8, num_attention_heads=4, vocab_size=99, hidden_size=32, num_hidden_layers=3, intermediate_size=37, use_cache=False)
    add("falcon_mamba", "FalconMambaForCausalLM", "FalconMambaConfig", args=only_ids(), vocab_size=99, hidden_size=32, num_hidden_layers=2, state_size=4, use_cache=False)
    add("nemotron", "NemotronForCausalLM", "NemotronConfig", **DECODER)
    add("glm", "GlmForCausalLM", "GlmConfig", head_dim=8, **DECODER)
    add("glm4", "Glm4ForCausalLM", "Glm4Config", head_dim=8, **DECODER)
    add("smollm3", "SmolLM3ForCausalLM", "SmolLM3Config", **DECODER)
    add("ernie4_5", "Ernie4_5ForCausalLM", "Ernie4_5Config", head_dim=8, **DECODER)
    add("cohere2", "Cohere2ForCausalLM", "Cohere2Config", **DECODER)
    add("lfm2", "Lfm2ForCausalLM", "Lfm2Config", args=only_ids(), layer_types=["conv", "full_attention"], **DECODER)
    add("jetmoe", "JetMoeForCausalLM", "JetMoeConfig", num_local_experts=4, num_experts_per_tok=2, kv_channels=8, **DECODER)
    add("exaone4", "Exaone4ForCausalLM", "Exaone4Config", **DECODER)
    add("llama4", "Llama4ForCausalLM", "Llama4TextConfig", head_dim=8, num_local_experts=2, intermediate_size_mlp=37, attention_chunk_size=8, **DECODER)
    add("gemma3n", "Gemma3nForCausalLM", "Gemma3nTextConfig", head_dim=8, vocab_size_per_layer_input=99, hidden_size_per_layer_input=8, laurel_rank=4, altup_num_inputs=2, activation_sparsity_pattern=[0.5, 0.0], num_kv_shared_layers=0, layer_types=["sliding_attention", "full_attention"], **DECODER)
    add("xglm", "XGLMForCausalLM", "XGLMConfig", vocab_size=99, d_model=32, num_layers=2, attention_heads=4, ffn_dim=37, max_position_embeddings=64, use_cache=False)
    add("biogpt", "BioGptForCausalLM", "BioGptConfig", use_cache=False, **SMALL)
    add("ctrl", "CTRLModel", "CTRLConfig", vocab_size=99, n_embd=32, n_layer=2, n_head=4, dff=37, n_positions=64, use_cache=False)
    add("openai_gpt", "OpenAIGPTModel", "OpenAIGPTConfig", vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64)
    add("umt5", "UMT5ForConditionalGeneration", "UMT5Config", args=seq2seq, **t5)
    add("mt5", "MT5EncoderModel", "MT5Config", **t5)
    add("longt5", "LongT5EncoderModel", "LongT5Config", args=text(2, 16), local_radius=3, **t5)
    add("mbart", "MBartModel", "MBartConfig", args=seq2seq, **bart)
    add("m2m_100", "M2M100Model", "M2M100Config", args=seq2seq, **bart)
    add("marian", "MarianModel", "MarianConfig", args=seq2seq, decoder_start_token_id=0, **dict(bart, pad_token_id=1))
    add("blenderbot", "BlenderbotModel", "BlenderbotConfig", args=seq2seq, **bart)
    add("prophetnet", "ProphetNetModel", "ProphetNetConfig", args=seq2seq, vocab_size=99, hidden_size=32, num_encoder_layers=1, num_decoder_layers=1, num_encoder_attention_heads=4, num_decoder_attention_heads=4, encoder_ffn_dim=37, decoder_ffn_dim=37, max_position_embeddings=64, use_cache=False)
    add("speech_to_text", "Speech2TextModel", "Speech2TextConfig", args=lambda: ((), {"input_features": torch.randn(1, 40, 8), "decoder_input_ids": torch.randint(3, 90, (1, 4))}), input_feat_per_channel=8, input_channels=1, conv_channels=16, num_conv_layers=2, max_source_positions=40, max_target_positions=20, **{k: v for k, v in bart.items() if k != "max_position_embeddings"})
    add("data2vec.vision", "Data2VecVisionModel", "Data2VecVisionConfig", args=image(), **VISION)
    add("dinov3", "DINOv3ViTModel", "DINOv3ViTConfig", args=image(), **VISION)
    add("efficientnet", "EfficientNetModel", "EfficientNetConfig", args=image(64), width_coefficient=0.5, depth_coefficient=0.5, hidden_dim=640)
    add("focalnet", "FocalNetModel", "FocalNetConfig", args=image(), image_size=32, patch_size=2, embed_dim=16, depths=[1, 1], hidden_sizes=[16, 32], focal_levels=[2, 2], focal_windows=[3, 3])
    add("glpn", "GLPNForDepthEstimation", "GLPNConfig", args=image(64), hidden_sizes=[8, 8, 16, 16], num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=8)
    add("levit", "LevitModel", "LevitConfig", args=image(64), image_size=64, hidden_sizes=[16, 32, 48], num_attention_heads=[2, 2, 2], key_dim=[8, 8, 8], depths=[1, 1, 1])
    add("mobilenet_v1", "MobileNetV1Model", "MobileNetV1Config", args=image(64), depth_multiplier=0.25)
    add("mobilenet_v2", "MobileNetV2Model", "MobileNetV2Config", args=image(64), depth_multiplier=0.35)
    add("mobilevitv2", "MobileViTV2Model", "MobileViTV2Config", args=image(64), image_size=64, width_multiplier=0.25)
    add("regnet", "RegNetModel", "RegNetConfig", args=image(64), embedding_size=8, hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1], groups_width=8)
    add("vit_mae", "ViTMAEModel", "ViTMAEConfig", args=lambda: ((), {"pixel_values": torch.randn(1, 3, 32, 32), "noise": torch.rand(1, 16)}), **VISION)
    add("timesformer", "TimesformerModel", "TimesformerConfig", args=lambda: ((), {"pixel_values": torch.randn(1, 2, 3, 32, 32)}), num_frames=2, **VISION)
    add("videomae", "VideoMAEModel", "VideoMAEConfig", args=lambda: ((), {"pixel_values": torch.randn(1, 4, 3, 32, 32)}), num_frames=4, tubelet_size=2, **VISION)
    add("vivit", "VivitModel", "VivitConfig", args=lambda: ((), {"pixel_values": torch.randn(1, 4, 3, 32, 32)}), num_frames=4, tubelet_size=[2, 8, 8], **VISION)
    add("swin2sr", "Swin2SRForImageSuperResolution", "Swin2SRConfig", args=image(), image_size=32, embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4, upscale=2)
    add("sam.vision", "SamVisionModel", "SamVisionConfig", args=image(64), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, image_size=64, patch_size=8, mlp_dim=37, window_size=4, global_attn_indexes=[1], output_channels=16, num_pos_feats=8)
    add("wavlm", "WavLMModel", "WavLMConfig", args=wav, **w2v)
    add("unispeech", "UniSpeechModel", "UniSpeechConfig", args=wav, **w2v)
    add("sew", "SEWModel", "SEWConfig", args=wav, **w2v)
    add("data2vec.audio", "Data2VecAudioModel", "Data2VecAudioConfig", args=wav, **{k: v for k, v in w2v.items() if k != "num_conv_pos_embeddings"}, num_conv_pos_embeddings=2, conv_pos_kernel_size=5)
    add("wav2vec2.conformer", "Wav2Vec2ConformerModel", "Wav2Vec2ConformerConfig", args=wav, position_embeddings_type="relative", **w2v)
    add("wav2vec2.bert", "Wav2Vec2BertModel", "Wav2Vec2BertConfig", args=lambda: ((), {"input_features": torch.randn(1, 20, 16)}), feature_projection_input_dim=16, vocab_size=32, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20)
    add("dac", "DacModel", "DacConfig", args=lambda: ((), {"input_values": torch.randn(1, 1, 640)}), encoder_hidden_size=8, downsampling_ratios=[2, 4], decoder_hidden_size=32, n_codebooks=2, codebook_size=16, codebook_dim=4, upsampling_ratios=[4, 2])
    add("blip.vision", "BlipVisionModel", "BlipVisionConfig", args=image(), **VISION)
    add("git", "GitModel", "GitConfig", args=lambda: ((), dict(ids(1), pixel_values=torch.randn(1, 3, 32, 32))), vision_config=VISION, use_cache=False, **SMALL)
    add("visual_bert", "VisualBertModel", "VisualBertConfig", args=lambda: ((), dict(ids(), visual_embeds=torch.randn(2, 3, 16))), visual_embedding_dim=16, **SMALL)
    add("lxmert", "LxmertModel", "LxmertConfig", args=lambda: ((), dict(ids(), visual_feats=torch.randn(2, 3, 16), visual_pos=torch.rand(2, 3, 4))), visual_feat_dim=16, l_layers=1, x_layers=1, r_layers=1, **{k: v for k, v in SMALL.items() if k != "num_hidden_layers"})
    add("layoutlmv3", "LayoutLMv3Model", "LayoutLMv3Config", args=lambda: ((), dict(ids(1), bbox=torch.randint(0, 50, (1, 9, 4)), pixel_values=torch.randn(1, 3, 32, 32))), input_size=32, coordinate_size=4, shape_size=8, max_2d_position_embeddings=64, **dict(SMALL, patch_size=8))
    add("owlvit.vision", "OwlViTVisionModel", "OwlViTVisionConfig", args=image(), **VISION)
    add("clipseg", "CLIPSegForImageSegmentation", "CLIPSegConfig", args=lambda: ((), {"input_ids": torch.randint(3, 90, (1, 7)), "pixel_values": torch.randn(1, 3, 32, 32)}), text_config=dict(SMALL, eos_token_id=2), vision_config=dict(VISION), extract_layers=[0, 1], reduce_dim=16, decoder_num_attention_heads=2, decoder_intermediate_size=16, projection_dim=32)
    D32 = dict(DECODER, intermediate_size=32)
    add("moe.olmoe", "OlmoeForCausalLM", "OlmoeConfig", num_experts=4, num_experts_per_tok=2, **D32)
    add("moe.granite", "GraniteMoeForCausalLM", "GraniteMoeConfig", num_local_experts=4, num_experts_per_tok=2, **D32)
    add("moe.jamba", "JambaForCausalLM", "JambaConfig", args=only_ids(), num_experts=2, use_mamba_kernels=False, attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=1, mamba_d_state=4, mamba_dt_rank=4, **D32)
    add("moe.gpt_oss", "GptOssForCausalLM", "GptOssConfig", head_dim=8, num_local_experts=4, num_experts_per_tok=2, **D32)
    add("moe.mixtral", "MixtralForCausalLM", "MixtralConfig", num_local_experts=4, **D32)
    add("moe.phimoe", "PhimoeForCausalLM", "PhimoeConfig", num_local_experts=4, **D32)
    add("moe.qwen3_next", "Qwen3NextForCausalLM", "Qwen3NextConfig", args=only_ids(), head_dim=8, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, shared_expert_intermediate_size=16, linear_num_key_heads=2, linear_num_value_heads=2, linear_key_head_dim=8, linear_value_head_dim=8, layer_types=["linear_attention", "full_attention"], **D32)
    seq = {"input_ids": {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}, "attention_mask": {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}}
    for name in ("roformer", "qwen3_moe", "xlm_roberta"):
        out["hf." + name + ".dynamic"] = dict(out["hf." + name], calls=[text(3, 5), text(2, 12)], dynamic=seq)
    return out
