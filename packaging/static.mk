# SPDX-License-Identifier: Apache-2.0
#
# static.mk - the command as one file that needs no library of the machine, not even libc (docs/install.md).
#
#   make static         build/static/ctsc
#   make tarball        dist/ctsc-VERSION-linux-ARCHITECTURE.tar.xz: that, its manual page and completions
#   make test-tarball   unpacks and uses it (tests/tarball)
#
# The compiler for kernels, gRPC and Gloo are libraries that a process opens, which this one does not (static_dl.c): programs run in the interpreter. libzip, of which Debian has no archive, is left out: what it does is a second look at the directories of archives (runtime/archive/zip.c). OpenBLAS
# has the kernels that a wheel has (python/python.mk), libmicrohttpd is without TLS.

STATIC_DIR := $(BUILD)/static
STATIC_ZIP := $(STATIC_DIR)/zip.o
STATIC_LIB := $(filter-out $(BUILD)/src/runtime/archive/zip.o,$(LIB_OBJ)) $(STATIC_ZIP)
$(STATIC_ZIP): src/runtime/archive/zip.c build.mk
	@mkdir -p $(@D)
	$(call say,CC,$< (without libzip))
	$(Q)$(CCACHE) $(CC) $(CPPFLAGS) $(CFLAGS) -DCTSC_NO_LIBZIP -MMD -MP -c $< -o $@
-include $(STATIC_ZIP:.o=.d)
$(STATIC_DIR)/ctsc: $(CLI_PARTS) $(STATIC_LIB) $(PY_BLAS) python/gnutls_stub.c packaging/static_dl.c packaging/static.mk
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)objcopy -R .eh_frame -R .rela.eh_frame $(BLAS_ARCHIVE) $(STATIC_DIR)/openblas.a
	$(Q)$(CC) -static -s -o $@ $(CPPFLAGS) $(CFLAGS) -Wl,--gc-sections -Wl,-z,relro packaging/static_dl.c $(CLI_PARTS) $(STATIC_LIB) $(LDFLAGS) $(BLAS_CORES) @$(PY)/blas.unused \
	    $(PY)/blas_support.o $(STATIC_DIR)/openblas.a -l:libgfortran.a -l:libquadmath.a $(HTTPD_LINK) $(call STATIC,png) $(call STATIC,turbojpeg) $(ONNX_LIBS) \
	    -ljansson -lz -lm -ldl 2> $(STATIC_DIR)/warnings || { cat $(STATIC_DIR)/warnings >&2; exit 1; }
	$(Q)rm $(STATIC_DIR)/openblas.a
static: $(STATIC_DIR)/ctsc

TARBALL := ctsc-$(VERSION)-linux-$(ARCHITECTURE)
tarball: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) static
	@rm -rf $(STATIC_DIR)/$(TARBALL) && mkdir -p "$(DIST)" $(addprefix $(STATIC_DIR)/$(TARBALL)/,bin share/man/man1 share/completions)
	@cp $(STATIC_DIR)/ctsc $(STATIC_DIR)/$(TARBALL)/bin/ctsc
	@cp docs/ctsc.1 $(STATIC_DIR)/$(TARBALL)/share/man/man1
	@cp packaging/copyright LICENSE CHANGELOG.md $(STATIC_DIR)/$(TARBALL)
	@for s in bash zsh fish; do $(STATIC_DIR)/ctsc completion $$s > $(STATIC_DIR)/$(TARBALL)/share/completions/ctsc.$$s || exit 1; done
	@tar -C $(STATIC_DIR) --owner=0 --group=0 --sort=name --mtime=@$${SOURCE_DATE_EPOCH:-$$(stat -c %Y CHANGELOG.md)} -cJf "$(DIST)/$(TARBALL).tar.xz" $(TARBALL)
	@echo "$(DIST)/$(TARBALL).tar.xz"
test-tarball: tarball
	@python3 tests/tarball/tarball.py --tarball "$(DIST)/$(TARBALL).tar.xz" --ctsc $(BUILD)/ctsc

.PHONY: static tarball test-tarball
