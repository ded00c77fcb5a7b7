# SPDX-License-Identifier: Apache-2.0
#
# install.mk - the shared library, and what `make install` and the Debian package put where.
#
#   make install        PREFIX=/usr/local LIBDIR=$(PREFIX)/lib DESTDIR=; make uninstall removes the same files
#   make shared         libctsc.so alone
#   make sbom           dist/ctsc-VERSION.cdx.json and, where the wheel's files are built, dist/ctsc-VERSION-wheel.cdx.json: what is linked, as CycloneDX
#   make deb            dist/ctsc_VERSION_ARCHITECTURE.deb
#
# Files:
#   $(PREFIX)/bin/ctsc                      the command
#   $(LIBDIR)/libctsc.so*, libctsc.a        the library; libctsc-jit.so, the compiler for kernels, is opened when needed
#   $(LIBDIR)/libctsc-grpc.so               where libgrpc is there: gRPC for the server, opened when asked for
#   $(LIBDIR)/libctsc-dist.so, libctsc-gloo.so     collectives between processes, the latter where Gloo is; opened when asked for
#   $(PREFIX)/include/ctsc.h, ctsc_dist.h   their headers
#   $(LIBDIR)/ctsc-rt/SET/libctsc-rt*.a     for programs compiled ahead of time (docs/aot.md), for each instruction set
#   $(LIBDIR)/pkgconfig/ctsc.pc             pkg-config, ctsc-static.pc for libctsc.a; $(LIBDIR)/cmake/ctsc: find_package(ctsc)
#   $(PREFIX)/share/man/man1/ctsc.1         the manual page
#   completions for bash, zsh and fish

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
BASH_COMPLETIONS ?= $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions
FISH_COMPLETIONS ?= $(PREFIX)/share/fish/vendor_completions.d

VERSION := $(shell sed -n 's/^#define CTSC_VERSION_STRING "\(.*\)"/\1/p' include/ctsc.h)
# The number that changes when programs have to be linked again.
ABI := $(shell sed -n 's/^#define CTSC_ABI_VERSION \([0-9]*\)$$/\1/p' include/ctsc.h)
SHARED := $(BUILD)/libctsc.so.$(VERSION)
# Its libraries: the command's but for HTTP and images, in the same order.
SHARED_LIBS := -lopenblas -lc -lm $(ONNX_LIBS) -lzip -ljansson -lz -ldl

# What the header declares is what is exported, under one version name per ABI.
$(BUILD)/libctsc.map: include/ctsc.h packaging/install.mk
	@mkdir -p $(@D)
	$(Q){ echo "CTSC_$(ABI) {"; echo "  global:"; \
	  grep -v '^ \*' include/ctsc.h | grep -o '^CTSC_API .*' | grep -o '\bctsc_[a-z0-9_]*(' | tr -d '(' | sort -u | sed 's/.*/    &;/'; \
	  echo "  local: *;"; echo "};"; } > $@
# What only the command calls (ctsc_compiler.h) and nothing else needs is not in it.
SHARED_WHOLE := $(filter-out $(addprefix $(BUILD)/src/runtime/api/,api_aot.o api_layers.o api_variables.o) $(BUILD)/src/cpu/neon_elsewhere.o $(BUILD)/src/runtime/aot/%,$(LIB_OBJ))
SHARED_CUT := $(call without_all,$(SHARED_WHOLE))
SHARED_OBJ := $(filter-out $(SHARED_CUT),$(SHARED_WHOLE)) $(if $(WITHOUT_NOW),$(BUILD)/without.o)
$(BUILD)/without.c: $(SHARED_WHOLE) scripts/without packaging/without.c
	$(Q)python3 scripts/without $(NM) $@ $(filter-out $(SHARED_CUT),$(SHARED_WHOLE)) $(foreach p,$(WITHOUT_NOW),--part $(p) $(call without_of,$(SHARED_WHOLE),$(p)))
$(BUILD)/without.o: $(BUILD)/without.c
	$(Q)$(CC) $(CPPFLAGS) -I. $(CFLAGS) $(WITHOUT_NOW:%=-DWITHOUT_%) -c $< -o $@
$(SHARED): $(SHARED_OBJ) $(BUILD)/libctsc.map
	@echo "  LD    $@"
	$(Q)$(CC) -shared -o $@ $(SHARED_OBJ) -Wl,-soname,libctsc.so.$(ABI) -Wl,--version-script=$(BUILD)/libctsc.map -Wl,-z,defs \
	    -Wl,--gc-sections $(RELOCS) $(LDFLAGS) $(SHARED_LIBS)
	$(Q)ln -sf $(@F) $(BUILD)/libctsc.so.$(ABI)
	$(Q)ln -sf libctsc.so.$(ABI) $(BUILD)/libctsc.so
shared: $(SHARED)

# Programs find the library where it is, unless the loader does anyway.
RPATH = $(if $(filter /usr/lib /usr/lib/% /lib /lib/%,$(LIBDIR)),, -Wl,-rpath,$(LIBDIR))
# @NAME@ in the templates.
$(BUILD)/packaging/%: packaging/%.in include/ctsc.h packaging/install.mk
	@mkdir -p $(@D)
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@LIBDIR@|$(LIBDIR)|g' -e 's|@VERSION@|$(VERSION)|g' -e 's|@ABI@|$(ABI)|g' -e 's|@RPATH@|$(RPATH)|g' -e 's|@ONNX_LIBS@|$(ONNX_LIBS)|g' -e 's|@ONNX_CMAKE@|$(if $(ONNX_LIBS),protobuf-c;)|g' $< > $@

# Folders with a space, which make would take for two.
NO_SPACE = $(if $(filter-out 1,$(words x$(DESTDIR)$(PREFIX)$(LIBDIR))),$(error make install and uninstall take no folder with a space))
install: deps-build
	$(NO_SPACE)
	@$(MAKE) --no-print-directory -j$(JOBS) build-all shared rt
	@rm -rf $(BUILD)/packaging
	@$(MAKE) --no-print-directory $(BUILD)/packaging/ctsc.pc $(BUILD)/packaging/ctsc-static.pc $(BUILD)/packaging/ctscConfig.cmake $(BUILD)/packaging/ctscConfigVersion.cmake
	install -d $(addprefix $(DESTDIR),$(PREFIX)/bin $(LIBDIR)/pkgconfig $(LIBDIR)/cmake/ctsc $(PREFIX)/include $(PREFIX)/share/man/man1 \
	    $(BASH_COMPLETIONS) $(ZSH_COMPLETIONS) $(FISH_COMPLETIONS))
	install -m 755 -s $(BUILD)/ctsc $(DESTDIR)$(PREFIX)/bin/ctsc
	install -m 644 -s --strip-program=strip $(SHARED) $(DESTDIR)$(LIBDIR)/libctsc.so.$(VERSION)
	ln -sf libctsc.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libctsc.so.$(ABI)
	ln -sf libctsc.so.$(ABI) $(DESTDIR)$(LIBDIR)/libctsc.so
	install -m 644 $(BUILD)/libctsc.a $(DESTDIR)$(LIBDIR)/libctsc.a
	strip --strip-debug $(DESTDIR)$(LIBDIR)/libctsc.a
	$(if $(JIT),install -m 644 -s $(JIT) $(DESTDIR)$(LIBDIR)/libctsc-jit.so)
	$(if $(GRPC_LIB),install -m 644 -s $(GRPC_LIB) $(DESTDIR)$(LIBDIR)/libctsc-grpc.so)
	for f in $(notdir $(DIST_LIBS)); do install -m 644 -s $(BUILD)/$$f $(DESTDIR)$(LIBDIR)/$$f; done
	install -m 644 include/ctsc.h include/ctsc_dist.h $(DESTDIR)$(PREFIX)/include
	install -m 644 $(BUILD)/packaging/ctsc.pc $(BUILD)/packaging/ctsc-static.pc $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 $(BUILD)/packaging/ctscConfig.cmake $(BUILD)/packaging/ctscConfigVersion.cmake $(DESTDIR)$(LIBDIR)/cmake/ctsc
	for s in $(RT_SETS); do install -d $(DESTDIR)$(LIBDIR)/ctsc-rt/$$s && \
	    install -m 644 $(BUILD)/rt/$$s/libctsc-rt*.a $(DESTDIR)$(LIBDIR)/ctsc-rt/$$s && strip --strip-unneeded $(DESTDIR)$(LIBDIR)/ctsc-rt/$$s/*.a || exit 1; done
	install -m 644 docs/ctsc.1 $(DESTDIR)$(PREFIX)/share/man/man1/ctsc.1
	$(BUILD)/ctsc completion bash > $(DESTDIR)$(BASH_COMPLETIONS)/ctsc
	$(BUILD)/ctsc completion zsh > $(DESTDIR)$(ZSH_COMPLETIONS)/_ctsc
	$(BUILD)/ctsc completion fish > $(DESTDIR)$(FISH_COMPLETIONS)/ctsc.fish

uninstall:
	$(NO_SPACE)
	rm -f $(addprefix $(DESTDIR),$(PREFIX)/bin/ctsc $(LIBDIR)/libctsc.so.$(VERSION) $(LIBDIR)/libctsc.so.$(ABI) $(LIBDIR)/libctsc.so \
	    $(LIBDIR)/libctsc.a $(LIBDIR)/libctsc-jit.so $(LIBDIR)/libctsc-grpc.so $(addprefix $(LIBDIR)/,$(notdir $(DIST_LIBS))) $(PREFIX)/include/ctsc.h $(PREFIX)/include/ctsc_dist.h $(LIBDIR)/pkgconfig/ctsc.pc $(LIBDIR)/pkgconfig/ctsc-static.pc $(PREFIX)/share/man/man1/ctsc.1 \
	    $(BASH_COMPLETIONS)/ctsc $(ZSH_COMPLETIONS)/_ctsc $(FISH_COMPLETIONS)/ctsc.fish)
	rm -rf $(DESTDIR)$(LIBDIR)/cmake/ctsc $(DESTDIR)$(LIBDIR)/ctsc-rt

# One package with everything that make install puts into /usr. It depends on the libraries that its files are linked with, and only recommends LLVM.
DEB := $(BUILD)/deb
DIST ?= dist
MAINTAINER ?= the ctsc authors <ctsc@localhost>
deb: deps-build
	@command -v dpkg-shlibdeps >/dev/null || { echo "make deb needs dpkg-dev" >&2; exit 6; }
	@rm -rf $(DEB) && mkdir -p $(DEB)/root/DEBIAN $(DEB)/debian "$(DIST)"
	@$(MAKE) --no-print-directory install PREFIX=/usr LIBDIR=/usr/lib DESTDIR="$(abspath $(DEB))/root" >/dev/null
	@printf 'Source: ctsc\n' > $(DEB)/debian/control
	@printf 'activate-noawait ldconfig\n' > $(DEB)/root/DEBIAN/triggers
	@printf 'libctsc $(ABI) ctsc (>= $(VERSION))\n' > $(DEB)/root/DEBIAN/shlibs
	@install -d $(DEB)/root/usr/share/doc/ctsc $(DEB)/root/usr/share/lintian/overrides
	@install -m 644 packaging/copyright $(DEB)/root/usr/share/doc/ctsc/copyright
	@install -m 644 packaging/lintian-overrides $(DEB)/root/usr/share/lintian/overrides/ctsc
	@printf 'ctsc (%s) unstable; urgency=medium\n\n  * The changes are in CHANGELOG.md.gz.\n\n -- %s  %s\n' '$(VERSION)' '$(MAINTAINER)' \
	    "$$(date -R -u -d @$${SOURCE_DATE_EPOCH:-$$(stat -c %Y CHANGELOG.md)})" | gzip -9n > $(DEB)/root/usr/share/doc/ctsc/changelog.gz
	@gzip -9n < CHANGELOG.md > $(DEB)/root/usr/share/doc/ctsc/CHANGELOG.md.gz
	@gzip -9n $(DEB)/root/usr/share/man/man1/ctsc.1
	@cd $(DEB) && dpkg-shlibdeps --warnings=0 -lroot/usr/lib -O root/usr/bin/ctsc root/usr/lib/libctsc.so.$(VERSION) > depends
	@cd $(DEB) && sed -e 's|@VERSION@|$(VERSION)|' -e 's|@MAINTAINER@|$(MAINTAINER)|' -e "s|@ARCHITECTURE@|$$(dpkg --print-architecture)|" -e "s|@SIZE@|$$(du -sk root | cut -f1)|" \
	    -e "s|@DEPENDS@|$$(sed 's/^shlibs:Depends=//' depends)|" "$(CURDIR)/packaging/control.in" > root/DEBIAN/control
	@dpkg-deb --root-owner-group -Zxz --build $(DEB)/root "$(DIST)"

# What is linked, read from the files themselves; for the wheel also the archives that become part of it (python/python.mk).
sbom: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) build-all shared python
	@mkdir -p "$(DIST)"
	@scripts/sbom --build $(BUILD) > "$(DIST)/ctsc-$(VERSION).cdx.json" && echo "$(DIST)/ctsc-$(VERSION).cdx.json"
	@if [ -e $(WHEEL)/ctsc/_C.abi3.so ]; then scripts/sbom --build $(BUILD) --wheel --static $(WHEEL_ARCHIVES) > "$(DIST)/ctsc-$(VERSION)-wheel.cdx.json" && \
	    echo "$(DIST)/ctsc-$(VERSION)-wheel.cdx.json"; fi

.PHONY: shared install uninstall deb sbom
