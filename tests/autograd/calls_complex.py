# SPDX-License-Identifier: Apache-2.0
"""Derivatives of what takes complex tensors (gradcheck.py): linear algebra, the rows of real matrices, and of what has a phase that is arbitrary what
does not depend on it; products; convolutions."""
import calls_products

NEAR_EYE = calls_products.NEAR_EYE
SPD = calls_products.SPD
PHASES = ("svd(", "eigh(", "symeig(", "eig(", "orgqr", "householder_product", "ormqr", "outer(")



def turned(inputs):
    return " ".join(i + "c" for i in inputs.split())


CALLS = [(call, turned(inputs), *options) for call, inputs, *options in calls_products.LINALG if not any(p in call for p in PHASES)]
CALLS += [
    ("u @ torch.diag_embed((s * s).to(torch.complex128)) @ v", "3,2c", "u, s, v = torch.linalg.svd(a, full_matrices=False)"),
    ("u @ torch.diag_embed((s * s).to(torch.complex128)) @ v", "2,2,3c", "u, s, v = torch.linalg.svd(a, full_matrices=False)"),
    ("u[:, :1] @ v[:1]", "3,3c", "u, s, v = torch.linalg.svd(a)"),
    ("u[:, 1:] @ v[:, 1:].mH", "3,2c", "u, s, v = torch.svd(a)"),
    ("torch.linalg.svdvals(a)", "2,3c"),
    ("torch.linalg.matrix_norm(a, 'nuc')", "3,2c"),
    ("torch.linalg.matrix_norm(a, 2)", "2,3,3c"),
    ("torch.linalg.eigvalsh(x)", "2,3,3c", SPD),
    ("v @ torch.diag_embed((e * e).to(torch.complex128)) @ v.mH", "3,3c", SPD, "e, v = torch.linalg.eigh(x)"),
    ("v[:, :1] @ v[:, :1].mH", "3,3c", SPD, "e, v = torch.linalg.eigh(x, UPLO='U')"),
    ("v[:, 1:] @ v[:, 1:].mH", "3,3c", SPD, "e, v = torch.symeig(x, eigenvectors=True)"),
    ("torch.linalg.eigvals(a)", "3,3c"),
    ("v @ torch.diag_embed(e * e) @ torch.linalg.inv(v)", "2,3,3c", "e, v = torch.linalg.eig(a)"),
    ("v.abs()", "3,3c", "e, v = torch.linalg.eig(a)"),
    ("torch.linalg.householder_product(a, b)", "4,2c 2c"),
    ("torch.linalg.householder_product(a, b)", "2,3,3c 2,2c"),
    ("torch.ormqr(a, b, c)", "4,2c 2c 4,3c"),
    ("torch.ormqr(a, b, c, True, True)", "4,2c 2c 4,3c"),
    ("torch.ormqr(a, b, c, False, True)", "4,2c 2c 3,4c"),
    ("torch.ormqr(a, b, c, False, False)", "4,2c 2c 3,4c"),
    ("torch.linalg.matrix_power(x, -3)", "3,3c", NEAR_EYE),
    ("torch.linalg.vander(a)", "3c"),
    ("torch.linalg.det(torch.outer(a, b))", "2c 2c"),
    ("torch.logdet(x)", "2,3,3c", NEAR_EYE),
]
CALLS += [
    ("a * (2.0 - 1.0j) / (1.0 + 3.0j)", "2,3c"),
    ("torch.addmm(a, b, c, beta=1.0 + 2.0j, alpha=2.0 - 1.0j)", "2,3c 2,2c 2,3c"),
    ("torch.baddbmm(a, b, c, beta=0.5, alpha=1.0j)", "2,2,3c 2,2,2c 2,2,3c"),
    ("torch.addbmm(a, b, c, beta=1.0j, alpha=2.0 - 1.0j)", "2,3c 2,2,2c 2,2,3c"),
    ("torch.addmv(a, b, c, beta=1.0 + 2.0j, alpha=2.0 - 1.0j)", "2c 2,3c 3c"),
    ("torch.addr(a, b, c, beta=1.0 + 2.0j, alpha=2.0 - 1.0j)", "2,3c 2c 3c"),
    ("torch.nn.functional.conv1d(a, b, c, padding=1)", "2,2,5c 3,2,2c 3c"),
    ("torch.nn.functional.conv2d(a, b, None, 2, groups=2)", "2,4,4c 2,1,2,2c"),
    ("torch.nn.functional.conv_transpose2d(a, b, c, stride=2)", "1,2,2,2c 2,3,2,2c 3c"),
    ("torch.nn.functional.unfold(a, [2, 2], padding=1, stride=2)", "1,2,3,4c"),
    ("torch.nn.functional.fold(a, [3, 4], [2, 2])", "2,8,6c"),
]
