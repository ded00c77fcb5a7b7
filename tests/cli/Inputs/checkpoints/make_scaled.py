"""Makes scaled.safetensors and what belongs to it, with torch 2.15 and safetensors 0.8: weights in eight bits with scales beside, as quantisers write them."""
import torch
from safetensors.torch import save_file
from scaled import Net

torch.manual_seed(5)
net = Net().eval()
state = dict(net.state_dict())


def put(name, bits, scale, spread, suffix="_scale"):
    """The weight divided by its scale, rounded; the net gets what that stands for."""
    weight = (state[name] / spread).to(bits) if bits.is_floating_point else torch.round(state[name] / spread).clamp(-128, 127).to(bits)
    state[name], state[name + suffix] = weight, scale
    net.load_state_dict({name: weight.float() * spread}, strict=False)


blocks = torch.rand(2, 2) * 0.01 + 0.001  # of 128 by 128, the last ones shorter
put("first.weight", torch.float8_e4m3fn, blocks, blocks.repeat_interleave(128, 0)[:136].repeat_interleave(128, 1)[:, :200], "_scale_inv")
rows = (torch.rand(3, 1) * 0.01 + 0.001).to(torch.bfloat16)
put("second.weight", torch.float8_e5m2, rows, rows.float())
state["second.input_scale"] = torch.tensor(0.5)
put("third.weight", torch.int8, torch.tensor(0.007), torch.tensor(0.007))
save_file(state, "scaled.safetensors")
del state["third.weight_scale"]
save_file({**state, "third.weight_scale": torch.ones(5)}, "misscaled.safetensors")
x = torch.randn(4, 200)
torch.save((x,), "scaled_inputs.pt")
torch.save(net(x).detach(), "scaled_expected.pt")
