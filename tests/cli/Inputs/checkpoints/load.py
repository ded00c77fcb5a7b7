import os

import torch
from net import Net

here = os.path.dirname(__file__)
net = Net()
checkpoint = torch.load(os.path.join(here, "model.pth"), map_location="cpu", weights_only=False)
net.load_state_dict(checkpoint["model"])
net.eval()
print(sorted(checkpoint), checkpoint["epoch"])
try:
    torch.load("nowhere.pth")
except FileNotFoundError as e:
    print(e)
scripted = torch.jit.script(net)
scripted.save("net.pt")
torch.jit.save(scripted, "net2.pt")
