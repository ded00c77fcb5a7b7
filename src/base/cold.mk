# SPDX-License-Identifier: Apache-2.0
# Which files of this folder are compiled for size, not speed (build.mk).
COLD += $(addprefix src/base/,diag.c disk.c log.c memory/available.c memory/unbacked.c memory/pages.c text/embed.c threads/background.c variables.c)
