# SPDX-License-Identifier: Apache-2.0
import torch
from torch import nn


class WordConfig:
    is_encoder_decoder = False
    size = 6


class WordModel(nn.Module):
    main_input_name = "input_ids"

    def __init__(self, config):
        super().__init__()
        self.embed = nn.Embedding(32, config.size)
        self.fc = nn.Linear(config.size, 3)

    def forward(self, input_ids):
        return {"out": self.fc(self.embed(input_ids))}
