# SPDX-License-Identifier: Apache-2.0
"""peft: LoRA of a GPT-2, trained, merged, saved."""
import warnings

import torch
import torch.nn as nn

warnings.filterwarnings("ignore")
torch.manual_seed(0)


def p(*a):
    print(*[("%.4f" % float(x)) if isinstance(x, torch.Tensor) and x.numel() == 1 else x for x in a], flush=True)


from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel
m = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=100, n_positions=32)); m = get_peft_model(m, LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn"], task_type="CAUSAL_LM"))
m.print_trainable_parameters(); opt = torch.optim.AdamW([q for q in m.parameters() if q.requires_grad], 1e-2); ids = torch.randint(0, 100, (2, 16)); m.eval()
for i in range(4):
    opt.zero_grad(); l = m(input_ids=ids, labels=ids).loss; l.backward(); opt.step(); p("loss", l.detach())
m.merge_and_unload(); import tempfile; d = tempfile.mkdtemp(); m.save_pretrained(d); import os; print(sorted(os.listdir(d)))
