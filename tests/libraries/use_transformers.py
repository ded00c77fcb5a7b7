# SPDX-License-Identifier: Apache-2.0
"""Networks, generation, a Trainer, saved and loaded weights."""
import tempfile

import torch
import transformers as T
from transformers.utils import logging

from common import show, stat

logging.set_verbosity_error()
ids = torch.arange(1, 13).view(1, 12)
small = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37}
heads = dict(small, num_key_value_heads=2)


def make(kind, config, **inputs):
    torch.manual_seed(0)
    net = kind(config).eval()
    with torch.no_grad():
        stat(kind.__name__, net(**inputs)[0])
    return net


make(T.BertModel, T.BertConfig(**small), input_ids=ids)
gpt = make(T.GPT2LMHeadModel, T.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=0, eos_token_id=0), input_ids=ids)
print(gpt.generate(ids, max_new_tokens=5, do_sample=False, pad_token_id=0).tolist())
torch.manual_seed(1)
print(gpt.generate(ids, max_new_tokens=5, do_sample=True, top_k=5, pad_token_id=0).tolist())
print(gpt.generate(ids, max_new_tokens=5, num_beams=3, do_sample=False, pad_token_id=0).tolist())
llama = make(T.LlamaForCausalLM, T.LlamaConfig(**heads), input_ids=ids)
print(llama.generate(ids, max_new_tokens=5, do_sample=False, pad_token_id=0).tolist())
make(T.T5ForConditionalGeneration, T.T5Config(vocab_size=99, d_model=32, d_ff=37, num_layers=2, num_heads=4, d_kv=8, decoder_start_token_id=0), input_ids=ids, decoder_input_ids=ids)
make(T.ViTModel, T.ViTConfig(**{k: v for k, v in small.items() if k != "vocab_size"}, image_size=32, patch_size=8), pixel_values=torch.randn(1, 3, 32, 32))
make(T.DistilBertForSequenceClassification, T.DistilBertConfig(vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=37), input_ids=ids)
make(T.Qwen2ForCausalLM, T.Qwen2Config(**heads), input_ids=ids)


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, i):
        return {"input_ids": torch.arange(i, i + 8) % 99, "labels": torch.tensor(i % 2)}


torch.manual_seed(0)
net = T.BertForSequenceClassification(T.BertConfig(**small, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
with tempfile.TemporaryDirectory() as folder:
    arguments = T.TrainingArguments(output_dir=folder, per_device_train_batch_size=4, max_steps=4, report_to=[], use_cpu=True, seed=1, disable_tqdm=True, logging_strategy="no")
    trainer = T.Trainer(model=net, args=arguments, train_dataset=Rows(), eval_dataset=Rows())
    trainer.remove_callback(T.PrinterCallback)
    show("train", trainer.train().training_loss)
    show("evaluate", trainer.evaluate()["eval_loss"])
    net.eval().save_pretrained(folder + "/net")
    again = T.BertForSequenceClassification.from_pretrained(folder + "/net").eval()
    print(torch.allclose(net(ids)[0], again(ids)[0], atol=1e-6))
