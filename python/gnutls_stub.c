/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gnutls_stub.c - what stands for GnuTLS in the command of a wheel. libmicrohttpd initialises
 * it when it is loaded; everything else is for connections with TLS, which ctsc serve has
 * none of, and fails.
 */
int gnutls_global_init(void);
void gnutls_global_deinit(void);
int gnutls_stub(void);

int gnutls_global_init(void) { return 0; }
void gnutls_global_deinit(void) {}
int gnutls_stub(void) { return -1; }
