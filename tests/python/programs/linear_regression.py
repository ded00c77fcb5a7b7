"""Linear regression by hand, by autograd, and by lstsq."""
import torch

g = torch.Generator().manual_seed(3)
x = torch.randn(100, 2, generator=g)
true_w, true_b = torch.tensor([2.0, -3.4]), 4.2
y = x @ true_w + true_b + 0.01 * torch.randn(100, generator=g)
w = torch.normal(0, 0.01, size=(2, 1), requires_grad=True)
b = torch.zeros(1, requires_grad=True)
print(w.is_leaf, b, w.shape, w.grad)
for step in range(100):
    loss = ((torch.matmul(x, w) + b - y.reshape(-1, 1)) ** 2 / 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.3 * w.grad
        b -= 0.3 * b.grad
        w.grad.zero_()
        b.grad.zero_()
print(w.reshape(true_w.shape), b)
print(f"{loss:.4f}", float(loss) < 1e-3)
design = torch.cat([x, torch.ones(100, 1)], 1)
solution = torch.linalg.lstsq(design, y.unsqueeze(1)).solution
print(solution.squeeze())
normal = torch.inverse(design.T @ design) @ design.T @ y
print(torch.allclose(normal, solution.squeeze(), atol=1e-4))
print(torch.linalg.matrix_rank(design), torch.linalg.cond(design) > 0.5)
try:
    w.numpy()
except RuntimeError as e:
    print(e)
try:
    w.add_(1)
except RuntimeError as e:
    print(e)
