# SPDX-License-Identifier: Apache-2.0
"""A loop with accumulated and clipped gradients, saved states, modules without memory."""
import tempfile

import torch
from accelerate import Accelerator, init_empty_weights
from accelerate.utils import set_seed

from common import show

set_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
net, x = torch.nn.Linear(3, 1), torch.randn(16, 3)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
rows = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x), batch_size=4, shuffle=True)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
net, optimizer, rows, schedule = accelerator.prepare(net, optimizer, rows, schedule)
for batch, in rows:
    with accelerator.accumulate(net):
        loss = net(batch).pow(2).mean()
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        show("train", loss, optimizer.param_groups[0]["lr"])
print(accelerator.gather(torch.ones(2)), accelerator.unwrap_model(net), accelerator.device, accelerator.num_processes)
with tempfile.TemporaryDirectory() as folder:
    accelerator.save_state(folder)
    before = net.weight.detach().clone()
    torch.nn.init.zeros_(net.weight)
    accelerator.load_state(folder)
    print(torch.equal(before, net.weight))
    accelerator.save_model(net, folder)
with init_empty_weights():
    print(torch.nn.Linear(1000, 1000).weight.device)
