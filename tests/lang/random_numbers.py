"""random: after a seed the numbers that CPython gives."""
import random

from torch import nn

for seed in (0, 1, 42, -7, 2 ** 40 + 3, 1.5, -0.1, 1e300, True):
    random.seed(seed)
    print(seed, random.random())
# expect: 0 0.8444218515250481
# expect: 1 0.13436424411240122
# expect: 42 0.6394267984578837
# expect: -7 0.32383276483316237
# expect: 1099511627779 0.21978710637116716
# expect: 1.5 0.551763726942059
# expect: -0.1 0.9101117294798381
# expect: 1e+300 0.2614143642581235
# expect: True 0.13436424411240122
random.seed(7)
print(random.uniform(-1, 3), random.randint(1, 6), random.randrange(10), random.randrange(5, 50, 3), random.randrange(50, 5, -7))
# expect: 0.29533105933264947 2 6 35 50
print(random.choice("abcdef"), random.choice([1, 2.5, None]), random.choices([1, 2, 3], k=3), random.choices("xyz", weights=[1, 5, 2], k=4), random.choices("xyz", cum_weights=[1, 5, 12], k=4))
# expect: a None [1, 2, 3] ['y', 'x', 'y', 'y'] ['z', 'x', 'z', 'z']
x = list(range(12))
random.shuffle(x)
print(x, random.sample(range(1000), 8), random.sample([1, 2, 3, 4], 3), random.sample("ab", 2, counts=[3, 1]))
# expect: [4, 2, 3, 5, 7, 1, 8, 6, 0, 9, 11, 10] [147, 553, 120, 584, 315, 573, 835, 698] [2, 1, 3] ['a', 'a']
print(random.gauss(0, 1), random.gauss(1.5, 2), random.gauss(), random.normalvariate(1, 2), random.lognormvariate(0, 1), random.expovariate(2.0))
# expect: -0.34404667916316806 1.2871573369229121 0.6320787450321489 2.081331249568038 0.4633278642104324 0.30182180084998333
print(random.triangular(), random.triangular(1, 5, 2), random.vonmisesvariate(1, 0.5), random.gammavariate(0.5, 2), random.gammavariate(1.0, 2), random.gammavariate(3, 2))
# expect: 0.38714790252801473 3.429189310664679 2.7984912765730936 1.4916764254070713 7.841607637617906 2.4411483863401795
print(random.betavariate(2, 3), random.paretovariate(3), random.weibullvariate(1, 2), random.getrandbits(1), random.getrandbits(33), random.getrandbits(63))
# expect: 0.3221160893909147 1.328004366692635 1.4433542048750747 0 5755781698 5482094497181813371
state = random.getstate()
a = random.random()
random.setstate(state)
print(a == random.random(), random.randrange(10 ** 15))
# expect: True 513642856520925
r = random.Random(5)
print(r.random(), r.randint(0, 10 ** 12), [r.random() for _ in range(700)][-1])
# expect: 0.6229016948897019 394027974809 0.8971522998169219
for call in (lambda: random.choice([]), lambda: random.sample([1], 2), lambda: random.randint(2, 1), lambda: random.seed([1])):
    try:
        call()
    except (IndexError, ValueError, TypeError) as e:
        print(type(e).__name__)
# expect: IndexError
# expect: ValueError
# expect: ValueError
# expect: TypeError


class Main(nn.Module):
    def __init__(self):
        super().__init__()
        random.seed(11)
        self.noise = random.random()

    def forward(self):
        return self.noise
# expect: 0.45237955350981862
