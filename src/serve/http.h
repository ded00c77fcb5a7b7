/* SPDX-License-Identifier: Apache-2.0 */
/* http.h - the server's sockets: libmicrohttpd around the protocol. */
#ifndef CTSC_SERVE_HTTP_H
#define CTSC_SERVE_HTTP_H

#include "serve/access_log.h"

typedef struct http http;

/* Listens: connections wait. NULL: *why. */
http *http_open(server *s, access_log *log, char *why, size_t size);
/* Serves them. False: *why. */
bool http_start(http *h, char *why, size_t size);
int http_port(const http *h);
/* Closes connections on which a request has been arriving for too long, and cancels the requests of
 * clients that have hung up. Called a few times a second. */
void http_tend(http *h);
/* Stops what the models run for requests. */
void http_cancel(http *h);
/* Takes no new connections; answers on the others say that it was the last one. */
void http_quiesce(http *h);
/* Requests without an answer, partially received requests, and connections. */
long http_in_flight(const http *h);
long http_receiving(const http *h);
long http_connections(const http *h);
/* Closes all connections; after http_quiesce, when no request is in flight. h is gone then. */
void http_stop(http *h);

#endif
