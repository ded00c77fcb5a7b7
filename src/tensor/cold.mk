# SPDX-License-Identifier: Apache-2.0
# Which files of this folder are compiled for size, not speed (build.mk).
COLD += $(addprefix src/tensor/,compare.c device.c dtype_names.c equal.c print.c)
