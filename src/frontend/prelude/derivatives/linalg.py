# SPDX-License-Identifier: Apache-2.0
# Derivatives of products, linear algebra and transforms. What the names of functions and parameters mean stands in runtime/autograd/grad_rules.h.
