/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.c - asks `ctsc serve` for the digit on an 8x8 image, with libcurl and the binary tensor
 * extension: what is sent and what comes are floats, after a line of JSON.
 *
 *     cc client.c -lcurl -o client && ./client [URL] [MODEL]      (http://localhost:8000, digits)
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const float zero[64] = {
    0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0,
    0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0,
};
static const char header[] =
    "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,1,8,8],"
    "\"parameters\":{\"binary_data_size\":256}}],\"parameters\":{\"binary_data_output\":true}}";

typedef struct answer { char bytes[4096]; size_t len, json; } answer;

static size_t take(char *data, size_t one, size_t n, void *ctx) {
    answer *a = ctx;
    (void)one;
    if (n > sizeof a->bytes - a->len) return 0; /* libcurl gives up */
    memcpy(a->bytes + a->len, data, n);
    a->len += n;
    return n;
}

/* How long the JSON of the answer is, says a header. */
static size_t take_header(char *line, size_t one, size_t n, void *ctx) {
    static const char name[] = "inference-header-content-length:";
    answer *a = ctx;
    (void)one;
    if (n >= sizeof name && curl_strnequal(line, name, sizeof name - 1))
        a->json = strtoul(line + sizeof name - 1, NULL, 10);
    return n;
}

int main(int argc, char **argv) {
    char url[500], length[80], body[sizeof header - 1 + sizeof zero], error[CURL_ERROR_SIZE] = "";
    answer a = {.len = 0};
    long status = 0;
    snprintf(url, sizeof url, "%.300s/v2/models/%.100s/infer",
             argc > 1 ? argv[1] : "http://localhost:8000", argc > 2 ? argv[2] : "digits");
    snprintf(length, sizeof length, "Inference-Header-Content-Length: %zu", sizeof header - 1);
    memcpy(body, header, sizeof header - 1);
    memcpy(body + sizeof header - 1, zero, sizeof zero); /* little-endian, as most machines are */
    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURL *c = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, length);
    if (!c || !headers) return 1;
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)sizeof body);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &a);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, &a);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, error);
    CURLcode code = curl_easy_perform(c);
    curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(c);
    curl_global_cleanup();
    float scores[10];
    if (code != CURLE_OK || status != 200 || a.len != a.json + sizeof scores) {
        fprintf(stderr, "%s: status %ld %s %.*s\n", url, status, error, (int)a.len, a.bytes);
        return 1;
    }
    memcpy(scores, a.bytes + a.json, sizeof scores);
    int best = 0;
    for (int i = 1; i < 10; i++)
        if (scores[i] > scores[best]) best = i;
    printf("digit %d\n", best);
    return 0;
}
