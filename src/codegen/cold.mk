# SPDX-License-Identifier: Apache-2.0
# Which files of this folder are compiled for size, not speed (build.mk).
COLD += src/codegen/%
HOT += src/codegen/lower/plan/group_guards.c src/codegen/lower/plan/group_bind.c
