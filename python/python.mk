# SPDX-License-Identifier: Apache-2.0
#
# The Python package (docs/python.md):
#
#   make python    build/python/ctsc, to be used in place: PYTHONPATH=build/python python3
#   make wheel     dist/ctsc-*.whl, for CPython 3.9 and later; made manylinux where auditwheel is installed. pip install . does the same without that
#   make wheel CTSC_URL=https://...    with links to the source, documentation, changes and issues there in its metadata
#
# The extension has the library in it. In a wheel the library is beside it, for the command as well (ctsc/bin/ctsc, which the script `ctsc` starts). A wheel has OpenBLAS, as far as it is called: of its kernels for two dozen processors those for
# three, of which each processor gets the newest that it can run, of these those whose drivers are there, and without tables for unwinding, which C and Fortran have no use for. libzip and jansson are put beside it by auditwheel, libzip with an empty libcrypto: what reads archives needs no encryption.

PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
AUDITWHEEL ?= auditwheel
PY := $(BUILD)/python
PY_SRC := $(wildcard python/src/*.c)
PY_OBJ := $(PY_SRC:python/src/%.c=$(PY)/obj/%.o)
PY_FILES := $(shell find python/ctsc -name '*.py' -o -name '*.pyi' -o -name py.typed)
PY_INCLUDE = $(shell "$(PYTHON)" -c 'import sysconfig; print(sysconfig.get_path("include"))')
PY_NN := $(shell find src/frontend/prelude/torch/nn src/frontend/prelude/torch/optim -name '*.py') src/frontend/prelude/torch/utils/checkpoint.py
# Symbols of the extension: what Python looks for, and the library's for shared libraries with operators.
PY_LINK = -shared -Wl,--gc-sections -Wl,--version-script=$(PY)/python.map

$(PY)/python.map: $(BUILD)/libctsc.map python/python.mk
	@mkdir -p $(@D)
	$(Q)sed -e '1s/.*/{/' -e 's/  global:/  global: PyInit__C;/' $< > $@
$(PY)/gen/op_names.h: python/generate.py $(wildcard src/ir/op/schemas*.txt src/ir/ops/*.def)
	@mkdir -p $(@D)
	$(Q)"$(PYTHON)" python/generate.py $@ $(PY)/gen/autocast.py $(PY)/gen/functions.pyi $(PY)/gen/methods.pyi && touch $@
$(PY)/obj/%.o: python/src/%.c $(wildcard python/src/*.h) include/ctsc.h $(PY)/gen/op_names.h python/python.mk
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CCACHE) $(CC) -Iinclude -Ipython/src -I$(PY)/gen -isystem "$(PY_INCLUDE)" -D_GNU_SOURCE -DPy_LIMITED_API=0x03090000 $(CFLAGS) -fno-strict-aliasing -c $< -o $@
$(PY)/ctsc/_C.abi3.so: $(PY_OBJ) $(BUILD)/libctsc.a $(PY)/python.map
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) $(PY_LINK) -o $@ $(PY_OBJ) -Wl,--whole-archive $(BUILD)/libctsc.a -Wl,--no-whole-archive $(LDFLAGS) $(SHARED_LIBS)

# The files beside the extension, in FOLDER/ctsc.
$(PY)/ctsc/.files: $(PY_FILES) $(PY_NN) $(PY)/gen/op_names.h python/package.py python/stubs.py python/docstrings.py python/docstrings.txt
	$(Q)"$(PYTHON)" python/package.py $(PY)/gen $(PY)/ctsc && touch $@
python: $(PY)/ctsc/_C.abi3.so $(PY)/ctsc/.files jit dist
	@ln -sf $(addprefix ../../,$(notdir $(JIT) $(DIST_LIBS))) $(PY)/ctsc/

# OpenBLAS as an archive: what the library calls of it, with kernels of processors that are not here being those of the next older one. A library of its own,
# since its memory per thread is more than a loaded extension may have at once.
BLAS_ARCHIVE := $(shell $(CC) -print-file-name=libopenblas.a)
#
# The tables of kernels name all of them, also those that only drivers call which are not linked (those of complex floats but products and LU, the 3M products, SYMM, HEMM, complex SYMV):
# a fourth of the whole. So are what only BLAS functions of its own call: largest and smallest elements with their signs, sums, matrices copied or added, rotations of complex floats.
# These are the null pointer; tests/python/test_py_wheel.py calls what is left, with each set of kernels.
ifneq ($(and $(filter /%,$(BLAS_ARCHIVE)),$(findstring x86_64,$(shell uname -m))),)
as = $(foreach core,$1,-Wl,--defsym=gotoblas_$(core)=gotoblas_$2)
BLAS_CORES := $(call as,ATOM BARCELONA BOBCAT CORE2 DUNNINGTON NANO NEHALEM OPTERON OPTERON_SSE3 PENRYN SANDYBRIDGE BULLDOZER PILEDRIVER STEAMROLLER,PRESCOTT) \
    $(call as,EXCAVATOR ZEN,HASWELL) $(call as,COOPERLAKE,SKYLAKEX)
BLAS_UNUSED := ((c(trmm|hemv)|[cz](symv|hemm)|[cz](ge|he|sy)mm3m|[sdcz](symm|[io]matcopy))_\w+|(i?[sd](max|min)|i?camin|csrot|[sdcz](geadd|sum)|[cz]ger[dv]|cger[cu])_k|cgemv_[dsu]|[sdcz]neg_tcopy)_(PRESCOTT|HASWELL|SKYLAKEX)
# Complex drivers that are known to do without these.
BLAS_LAPACK := geev|gels[dsy]?|geqrf|gesdd|heevd|(he|sy)tr[fs]|potr[fis]|ungqr|unmqr
PY_BLAS := $(PY)/wheel/ctsc/libctsc-blas.so
$(PY_BLAS): $(BUILD)/libctsc.a python/blas_support.c python/python.mk
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) -c -o $(PY)/blas_support.o python/blas_support.c
	$(Q)nm -u $(BUILD)/libctsc.a | awk '$$1 == "U" {print $$2}' | grep -xE 'cblas_\w+|openblas_\w+|[sdcz][a-z0-9]{3,}_' | sort -u > $(PY)/blas.txt
	$(Q)! grep -E '^(cblas_[cz]|[cz][a-z0-9]+_$$)|symm|m(ax|in|atcopy)|geadd|sum' $(PY)/blas.txt | grep -vxE 'cblas_[cz]gem[mv]|[cz](getr[fs]|trsm)_|z($(BLAS_LAPACK))_' || { echo "these may need kernels of BLAS_UNUSED" >&2; exit 1; }
	$(Q){ echo "{ global:"; sed 's/$$/;/' $(PY)/blas.txt; echo "local: *; };"; } > $(PY)/blas.map
	$(Q)objcopy -R .eh_frame -R .rela.eh_frame $(BLAS_ARCHIVE) $(PY)/openblas.a
	$(Q)nm --defined-only $(PY)/openblas.a 2>/dev/null | awk '$$2 == "T" {print $$3}' | grep -xE '$(BLAS_UNUSED)' | sort -u | sed 's/.*/-Wl,--defsym=&=0/' > $(PY)/blas.unused
	$(Q)$(CC) -shared -s -o $@ -Wl,-soname,$(@F) -Wl,-z,defs -Wl,--gc-sections -Wl,-z,pack-relative-relocs $(HARDENED) -Wl,--version-script=$(PY)/blas.map $$(sed 's/^/-Wl,-u,/' $(PY)/blas.txt) \
	    $(BLAS_CORES) @$(PY)/blas.unused $(PY)/blas_support.o $(PY)/openblas.a -l:libgfortran.a -l:libquadmath.a -lm -pthread
	$(Q)rm $(PY)/openblas.a
PY_BLAS_LINK := $(PY_BLAS) -Wl,-rpath,'$$ORIGIN'
else
PY_BLAS_LINK := -lopenblas
endif
# The library, for the extension and the command. Its name is not libctsc's, which a process may have as well.
WHEEL := $(PY)/wheel
WHEEL_LINK := -s -Wl,--gc-sections -Wl,-z,pack-relative-relocs
$(PY)/core.map: $(BUILD)/libctsc.map include/ctsc_compiler.h python/python.mk
	@mkdir -p $(@D)
	$(Q){ echo "{ global:"; { grep -o 'ctsc_[a-z0-9_]*;' $<; grep -v '^ \*' include/ctsc_compiler.h | grep -o '^CTSC_API .*' | grep -o '\bctsc_[a-z0-9_]*(' | \
	  tr '(' ';'; } | sort -u; echo "local: *; };"; } > $@
$(WHEEL)/ctsc/libctsc-core.so: $(BUILD)/libctsc.a $(PY)/core.map $(PY_BLAS) python/python.mk
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) -shared $(WHEEL_LINK) -o $@ -Wl,-soname,$(@F) -Wl,--version-script=$(PY)/core.map -Wl,--whole-archive $(BUILD)/libctsc.a -Wl,--no-whole-archive \
	    $(LDFLAGS) $(PY_BLAS_LINK) $(ONNX_LIBS) -lzip -ljansson -lz -lm -ldl
$(WHEEL)/ctsc/_C.abi3.so: $(PY_OBJ) $(WHEEL)/ctsc/libctsc-core.so
	@echo "  LD    $@"
	$(Q)$(CC) -shared $(WHEEL_LINK) -o $@ $(PY_OBJ) $(LDFLAGS) $(WHEEL)/ctsc/libctsc-core.so -Wl,-rpath,'$$ORIGIN'

# The command. libpng, libjpeg-turbo and libmicrohttpd become part of it where there are archives of them: TLS, which libmicrohttpd has of GnuTLS and the server
# does without, is left out, and the name of each of its functions stands for one that fails.
STATIC = $(if $(filter /%,$(shell $(CC) -print-file-name=lib$1.a)),-l:lib$1.a,-l$1)
HTTPD_ARCHIVE := $(filter /%,$(shell $(CC) -print-file-name=libmicrohttpd.a))
HTTPD_LINK = $(if $(HTTPD_ARCHIVE),python/gnutls_stub.c $$(nm -u $(HTTPD_ARCHIVE) 2>/dev/null | grep -o 'gnutls_\w*' | sort -u | grep -vxE 'gnutls_global_(de)?init' | \
    sed 's/.*/-Wl,--defsym=&=gnutls_stub/') )$(call STATIC,microhttpd)
$(WHEEL)/ctsc/bin/ctsc: $(CLI_PARTS) $(WHEEL)/ctsc/libctsc-core.so python/gnutls_stub.c
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) $(WHEEL_LINK) -o $@ $(CFLAGS) $(CLI_PARTS) $(LDFLAGS) $(WHEEL)/ctsc/libctsc-core.so -Wl,-rpath,'$$ORIGIN/..' $(HTTPD_LINK) $(call STATIC,png) \
	    $(call STATIC,turbojpeg) -ljansson -lz -lm -ldl
# What becomes part of the wheel's files, for the bill of materials.
WHEEL_ARCHIVES = $(filter /%,$(foreach n,$(if $(PY_BLAS),openblas gfortran quadmath) microhttpd png turbojpeg,$(shell $(CC) -print-file-name=lib$n.a)))
# Its manual page and completions, from where the shells find them in an environment.
$(WHEEL)/share/.files: $(WHEEL)/ctsc/bin/ctsc docs/ctsc.1
	@mkdir -p $(addprefix $(@D)/,man/man1 bash-completion/completions zsh/site-functions fish/vendor_completions.d)
	$(Q)cp docs/ctsc.1 $(@D)/man/man1/ctsc.1
	$(Q)$< completion bash > $(@D)/bash-completion/completions/ctsc
	$(Q)$< completion zsh > $(@D)/zsh/site-functions/_ctsc
	$(Q)$< completion fish > $(@D)/fish/vendor_completions.d/ctsc.fish && touch $@
$(PY)/wheel/ctsc/.files: $(PY_FILES) $(PY_NN) $(PY)/gen/op_names.h python/package.py python/stubs.py python/docstrings.py python/docstrings.txt
	$(Q)"$(PYTHON)" python/package.py $(PY)/gen $(PY)/wheel/ctsc && touch $@
# What python/backend.py packs.
wheel-files: $(WHEEL)/ctsc/_C.abi3.so $(WHEEL)/ctsc/.files $(WHEEL)/share/.files jit dist
	@for f in $(JIT) $(DIST_LIBS); do strip -o $(PY)/wheel/ctsc/$${f##*/} $$f; done

$(PY)/stub/libcrypto.so.3: python/libcrypto_stub.c python/libcrypto_stub.map
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -s -nostdlib $(if $(SHADOW),-fcf-protection=return) $(HARDENED) -o $@ $< -Wl,-soname,libcrypto.so.3 -Wl,--version-script=python/libcrypto_stub.map
wheel: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) wheel-files $(PY)/stub/libcrypto.so.3
	@"$(PYTHON)" python/backend.py --build $(BUILD) dist
	@if command -v $(AUDITWHEEL) >/dev/null 2>&1; then python/manylinux $(AUDITWHEEL) dist "$$(realpath $(PY)/stub)"; \
	    else echo "auditwheel is not installed: the wheel needs this machine's libzip"; fi

.PHONY: python wheel wheel-files
