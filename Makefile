# SPDX-License-Identifier: Apache-2.0
#
# ctsc's build. The two commands a newcomer needs:
#
#     make demo     builds, then lets two trained models run
#     make test     builds and runs every test
#
# Both install what is missing first (scripts/install-deps, Debian packages).
#
#   make                the library and the command, in build/
#   make SAN=1 ...      with AddressSanitizer and UBSan, in build-asan/
#   make SAN=thread ... with ThreadSanitizer, in build-tsan/
#   make CC=clang-19    with another compiler
#   make fuzz           the fuzz targets (libFuzzer, needs clang-19)

SAN ?=
ifeq ($(SAN),)
BUILD ?= build
OPT ?= -O2
else ifeq ($(SAN),thread)
BUILD ?= build-tsan
OPT ?= -O1
SANFLAGS := -fsanitize=thread
else
BUILD ?= build-asan
OPT ?= -O1
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined
endif

CC ?= cc
CCACHE := $(shell command -v ccache 2>/dev/null)
# -Wno-missing-field-initializers: table rows and {0} initialisers leave out what is zero on purpose.
WARN := -Wall -Wextra -Werror -Wno-missing-field-initializers -Wvla -Wstrict-prototypes
CPPFLAGS += -Iinclude -Isrc -D_GNU_SOURCE
# -ffp-contract=off: the same results whether or not the compiler may fuse a*b+c.
CFLAGS += -std=c11 $(OPT) -g $(WARN) -fPIC -fvisibility=hidden -fno-strict-aliasing -fno-math-errno \
          -ffp-contract=off -fno-omit-frame-pointer -pthread $(SANFLAGS)
LDFLAGS += -pthread $(SANFLAGS)
LDLIBS += -lzip -lopenblas -ljansson -lz -lm -ldl

LIB_DIRS := base tensor ir frontend passes codegen runtime runtime/kernels
LIB_SRC := $(foreach d,$(LIB_DIRS),$(wildcard src/$(d)/*.c))
CLI_SRC := $(wildcard src/cli/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/%.o)

all: $(BUILD)/libctsc.a $(BUILD)/ctsc

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CCACHE) $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

# Assembled in with .incbin, which the compiler's dependency output does not see.
$(BUILD)/src/ir/schemas_data.o: src/ir/schemas.txt

$(BUILD)/libctsc.a: $(LIB_OBJ)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/ctsc: $(CLI_OBJ) $(BUILD)/libctsc.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# Unit tests: every tests/unit/test_*.c is one cmocka program.
UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/tests/unit/%)

$(BUILD)/tests/unit/%: tests/unit/%.c $(BUILD)/libctsc.a
	@mkdir -p $(@D)
	$(CCACHE) $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@.o
	$(CC) $(LDFLAGS) -o $@ $@.o $(BUILD)/libctsc.a -lcmocka $(LDLIBS)

unit: $(UNIT_BIN)

clean:
	rm -rf build build-*

.PHONY: all unit clean
.SECONDARY:
-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(UNIT_BIN:%=%.d)
