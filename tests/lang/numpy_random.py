"""numpy.random: after a seed the numbers that NumPy gives."""
import numpy as np
from torch import nn

np.random.seed(3)
print(np.random.rand(2, 2).tolist(), np.random.rand(), np.random.randn(3).tolist(), np.random.randint(5), np.random.randint(2, 9, 4).tolist(), np.random.uniform(-1, 1, (2,)).tolist())  # expect: [[0.5507979025745755, 0.7081478226181048], [0.2909047389129443, 0.510827605197663]] 0.8929469543476547 [-0.46004212066268363, -0.05792084059435568, 2.077574137112829] 1 [4, 8, 4, 4] [0.8266028914448897, 0.5316527569123219]
x = [1, 2, 3, 4, 5]
np.random.shuffle(x)
print(x, np.random.permutation(6).tolist(), np.random.choice(5), np.random.choice([10, 20, 30], 4).tolist(), np.random.choice(6, 3, replace=False).tolist(), np.random.choice(3, 4, p=[0.1, 0.2, 0.7]).tolist(), np.random.normal(1.0, 2.0, 2).tolist(), np.random.normal())  # expect: [4, 5, 1, 2, 3] [3, 5, 4, 0, 2, 1] 0 [20, 10, 20, 10] [5, 3, 2] [2, 2, 2, 0] [-0.20262495237825928, 2.4901125328107416] 1.9761107831263025
r = np.random.RandomState(7)
print(r.randint(0, 2 ** 40, 2).tolist(), r.random_sample(2).tolist(), r.permutation(np.arange(6).reshape(3, 2)).tolist(), r.standard_normal((1, 2)).tolist())  # expect: [752595690692, 108744157686] [0.4384092314408935, 0.7234651778309412] [[4, 5], [2, 3], [0, 1]] [[0.09316606097975175, 3.200914709117712]]
a = np.arange(6).reshape(3, 2)
r.shuffle(a)
print(a.tolist(), np.random.random(2).tolist())  # expect: [[2, 3], [0, 1], [4, 5]] [0.3615647630625781, 0.22505450483983191]


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        np.random.seed(1)
        self.noise = np.random.rand()

    def forward(self):
        return self.noise
# expect: 0.417022004702574
