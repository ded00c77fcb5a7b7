# SPDX-License-Identifier: Apache-2.0
# Derivatives of layers, losses and resampling. What the names of functions and parameters mean stands in runtime/autograd/grad_rules.h.
