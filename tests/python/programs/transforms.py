"""Image transforms by hand, as torchvision has them; NumPy and back."""
import math
import random

import numpy as np
import torch
import torch.nn.functional as F


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, x):
        for t in self.transforms:
            x = t(x)
        return x

    def __repr__(self):
        return "Compose(%s)" % ", ".join(type(t).__name__ for t in self.transforms)


class ToTensor:
    def __call__(self, image):
        return torch.from_numpy(image).permute(2, 0, 1).contiguous().to(dtype=torch.get_default_dtype()).div(255)


class Normalize:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    def __call__(self, x):
        mean = torch.as_tensor(self.mean, dtype=x.dtype, device=x.device)
        std = torch.as_tensor(self.std, dtype=x.dtype, device=x.device)
        if (std == 0).any():
            raise ValueError("std evaluated to zero")
        return x.sub_(mean.view(-1, 1, 1)).div_(std.view(-1, 1, 1))


class RandomHorizontalFlip:
    def __init__(self, p):
        self.p = p

    def __call__(self, x):
        return x.flip(-1) if torch.rand(1) < self.p else x


class RandomCrop:
    def __init__(self, size, padding):
        self.size, self.padding = size, padding

    def __call__(self, x):
        x = F.pad(x, [self.padding] * 4)
        h, w = x.shape[-2:]
        i = torch.randint(0, h - self.size + 1, size=(1,)).item()
        j = torch.randint(0, w - self.size + 1, size=(1,)).item()
        return x[..., i:i + self.size, j:j + self.size]


class RandomErasing:
    def __call__(self, x):
        area = x.shape[-2] * x.shape[-1]
        ratio = torch.empty(1).uniform_(math.log(0.3), math.log(3.3)).exp().item()
        h = min(int(round(math.sqrt(area * 0.1 * ratio))), x.shape[-2] - 1)
        x = x.clone()
        x[:, :h, :2] = 0
        return x


class Resize:
    def __init__(self, size):
        self.size = size

    def __call__(self, x):
        return F.interpolate(x[None], size=self.size, mode="bilinear", align_corners=False, antialias=True)[0]


random.seed(0)
torch.manual_seed(0)
image = (np.arange(8 * 10 * 3).reshape(8, 10, 3) % 256).astype(np.uint8)
pipeline = Compose([ToTensor(), Resize((6, 6)), RandomCrop(6, padding=1), RandomHorizontalFlip(0.5), Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)), RandomErasing()])
print(pipeline)
for _ in range(3):
    out = pipeline(image)
    print(out.shape, out.dtype, out.mean(), out.std(), out[0, 2])
gray = 0.299 * out[0] + 0.587 * out[1] + 0.114 * out[2]
sobel = torch.tensor([[-1., 0, 1], [-2, 0, 2], [-1, 0, 1]])[None, None]
print(F.conv2d(gray[None, None], sobel, padding=1).abs().max(), gray.clamp(0, 1).mul(255).byte().numpy().dtype)
back = out.permute(1, 2, 0).numpy()
print(back.shape, back.dtype, type(back).__name__, np.asarray(out).shape, np.allclose(back.mean(), out.mean().item()), isinstance(out.numpy(), np.ndarray))
a = np.ones(3, dtype=np.float32)
t = torch.from_numpy(a)
t += 1
print(a, torch.tensor(a) is t, torch.as_tensor(a).data_ptr() == t.data_ptr(), torch.tensor(np.float64(1.5)), torch.tensor(np.array([1, 2], dtype=np.int16)).dtype, torch.from_numpy(np.arange(3)[::2].copy()))
print(np.sin(torch.zeros(2)), np.add(torch.ones(2), 1), torch.ones(2).numpy() + np.ones(2), np.stack([torch.zeros(2), torch.ones(2)]).shape, torch.ones(2) * np.float32(3), float(np.mean(torch.ones(3).numpy())), torch.stack([torch.from_numpy(np.zeros(2)), torch.ones(2).double()]))
print(torch.tensor([np.array([1, 2]), np.array([3, 4])]), torch.tensor([torch.tensor(1), torch.tensor(2)]), torch.zeros(np.int64(2)), torch.arange(3)[np.int64(1)], torch.ones(3)[np.array([0, 2])], torch.ones(2, 2).numpy().T.strides)
