# SPDX-License-Identifier: Apache-2.0
#
#   make demo     builds, then lets two trained models run
#   make test     builds and runs every test
#   make check    the one-minute test, for after each edit
#   make help     lists all targets
#
# The first two install what is missing (scripts/install-deps, Debian packages). The rules are in build.mk, tests.mk, bench.mk, cross.mk, packaging/*.mk and
# python/python.mk.

.DEFAULT_GOAL := all
include packaging/without.mk
SAN ?=
ifeq ($(SAN),)
BUILD ?= build
OPT ?= -O2
else ifeq ($(SAN),thread)
BUILD ?= build-tsan
OPT ?= -O1
SANFLAGS := -fsanitize=thread
else ifeq ($(SAN),coverage)
BUILD ?= build-coverage
OPT ?= -O1
SANFLAGS := --coverage -fprofile-update=atomic
# Objects have the absolute names of their counters' files.
override CCACHE :=
else
BUILD ?= build-asan
OPT ?= -O1
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined
endif

include build.mk tests.mk bench.mk cross.mk packaging/rt.mk packaging/install.mk python/python.mk packaging/static.mk

# The lists at the heads of these files.
HELP := Makefile build.mk tests.mk bench.mk cross.mk packaging/rt.mk packaging/without.mk packaging/install.mk packaging/static.mk python/python.mk
help:
	@for f in $(HELP); do sed -n 's/^#   make/  make/p; /^$$/q' $$f; echo; done

clean:
	rm -rf build build-*
.PHONY: help clean
.SECONDARY:
-include $(LIB_OBJ:.o=.d) $(DIST_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(SERVE_OBJ:.o=.d) $(GRPC_OBJ:.o=.d) $(VIEW_OBJ:.o=.d) $(UNIT_BIN:%=%.d) $(DIFF_SRC:%.c=$(BUILD)/%.d)
