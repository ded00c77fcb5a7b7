# SPDX-License-Identifier: Apache-2.0
# Which files of this folder are compiled for size, not speed (build.mk).
COLD += src/cpu/neon_elsewhere.c
