"""einsum and linear algebra."""
import torch

torch.manual_seed(4)
a, b = torch.arange(6.).view(2, 3), torch.arange(12.).view(3, 4)
print(torch.einsum("ij,jk->ik", a, b), torch.einsum("ij->ji", a).shape, torch.einsum("ii", torch.eye(3)), torch.einsum("ij,ij->", a, a), torch.einsum("i,j->ij", a[0], a[1]))
q, k = torch.ones(2, 5, 3), torch.ones(2, 7, 3)
print(torch.einsum("b q d, b k d -> b q k", q, k).shape, torch.einsum("...ij,...jk", q, k.mT).shape, torch.einsum("bqd,bkd,bkd->bq", q, k, k)[0])
m = torch.tensor([[4., 1., 0.], [1., 3., 1.], [0., 1., 2.]])
print(torch.linalg.det(m), torch.linalg.inv(m) @ m, torch.linalg.cholesky(m), torch.linalg.eigvalsh(m), torch.linalg.norm(m), torch.linalg.solve(m, torch.ones(3)))
values, vectors = torch.linalg.eigh(m)
print(values, (vectors @ torch.diag(values) @ vectors.T).allclose(m, atol=1e-5))
u, s, vh = torch.linalg.svd(a, full_matrices=False)
print(u.shape, s, vh.shape, (u * s @ vh).allclose(a, atol=1e-5))
Q, R = torch.linalg.qr(m)
print((Q @ R).allclose(m, atol=1e-5), (Q.T @ Q).allclose(torch.eye(3), atol=1e-5), R.triu().equal(R))
print(torch.linalg.slogdet(m), torch.trace(m), torch.linalg.matrix_power(m, 3), torch.linalg.vector_norm(m, ord=1), torch.linalg.matrix_norm(m, ord="nuc"), torch.linalg.pinv(a).shape)
print(torch.triu(m, 1), torch.tril(m), torch.diag(m), torch.diag(torch.tensor([1., 2.]), 1), torch.outer(a[0], a[1]), torch.dot(a[0], a[1]), torch.kron(torch.eye(2), torch.ones(1, 2)))
print(torch.bmm(q, k.transpose(1, 2)).shape, torch.mv(a, torch.ones(3)), torch.mm(a, b).sum(), torch.addmm(torch.ones(2, 4), a, b, beta=2)[0], torch.baddbmm(torch.zeros(2, 5, 7), q, k.mT).sum())
print(torch.cdist(a, a), torch.cross(a[0], a[1], dim=0), torch.tensordot(a, b, dims=1).shape, torch.tensordot(a, b, dims=([1], [0])).shape, torch.linalg.multi_dot([a, b, torch.ones(4, 1)]), torch.cov(a), torch.corrcoef(a))
e = torch.linalg.eigvals(torch.tensor([[0., -1.], [1., 0.]]))
print(e.dtype, e.abs(), e.imag.abs(), torch.linalg.lu_factor(m).pivots, torch.linalg.cholesky_ex(m).info, torch.cholesky_solve(torch.ones(3, 1), torch.linalg.cholesky(m)))
print(torch.linalg.solve_triangular(m.triu(), torch.ones(3, 1), upper=True), torch.linalg.matrix_exp(torch.zeros(2, 2)), torch.vander(torch.tensor([1., 2., 3.])), torch.block_diag(torch.ones(1, 2), torch.eye(2)))
try:
    torch.linalg.inv(torch.zeros(2, 2))
except RuntimeError as e:
    print(str(e).split("\n")[0])
try:
    torch.mm(a, a)
except RuntimeError as e:
    print(str(e)[-55:])
try:
    torch.linalg.cholesky(-m)
except RuntimeError as e:
    print(str(e).split("\n")[0])
