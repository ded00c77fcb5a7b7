// SPDX-License-Identifier: Apache-2.0
/*
 * gloo_engine.cc - Gloo as an engine (engine.h): all of libctsc-gloo.so.
 *
 * Each rank is connected to each by TCP; the interface is that of GLOO_SOCKET_IFNAME, else the one
 * that the host's name belongs to, else the loopback. Gloo closes all connections when a wait times
 * out, so nothing can be received after one. No exception leaves this file.
 */
#include "distributed/engine.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

namespace {

using Milliseconds = std::chrono::milliseconds;
constexpr int64_t FOREVER = int64_t(1) << 40; // Gloo adds time-outs to clocks

void say(char *why, const char *text) { snprintf(why, ENGINE_TEXT, "%s", text); }

// A wait of no time is, for Gloo, one without an end.
Milliseconds wait_of(int64_t ms) { return Milliseconds(ms < 1 ? 1 : ms > FOREVER ? FOREVER : ms); }

class Store : public gloo::rendezvous::Store {
  public:
    Store(const engine_store &s, int64_t timeout_ms) : store(s), timeout(timeout_ms) {}
    void set(const std::string &key, const std::vector<char> &data) override {
        if (!store.set(store.ctx, name(key).c_str(), data.data(), data.size()))
            throw std::runtime_error("the store takes no key " + key);
    }
    std::vector<char> get(const std::string &key) override {
        void *data = nullptr;
        size_t bytes = 0;
        if (!store.get(store.ctx, name(key).c_str(), timeout, &data, &bytes))
            throw std::runtime_error("rank " + key + " did not come within " +
                                     std::to_string(timeout) + "ms");
        std::vector<char> result((char *)data, (char *)data + bytes);
        free(data);
        return result;
    }
    void wait(const std::vector<std::string> &keys) override {
        for (const auto &key : keys) get(key);
    }
    void wait(const std::vector<std::string> &keys, const Milliseconds &) override { wait(keys); }

  private:
    static std::string name(const std::string &key) { return "gloo/" + key; }
    engine_store store;
    int64_t timeout;
};

// Whether the host's own name is an address of one of its interfaces: then others reach it so.
bool name_is_local(const char *name) {
    struct addrinfo hints = {}, *found = nullptr;
    struct ifaddrs *own = nullptr;
    bool local = false;
    hints.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(name, nullptr, &hints, &found) != 0) return false;
    if (getifaddrs(&own) == 0)
        for (auto *i = own; i && !local; i = i->ifa_next) {
            if (!i->ifa_addr || i->ifa_addr->sa_family != found->ai_family) continue;
            size_t at = found->ai_family == AF_INET6 ? 8 : 4;
            size_t bytes = found->ai_family == AF_INET6 ? 16 : 4;
            local = !memcmp((char *)i->ifa_addr + at, (char *)found->ai_addr + at, bytes);
        }
    if (own) freeifaddrs(own);
    freeaddrinfo(found);
    return local;
}

gloo::transport::tcp::attr device_attr() {
    gloo::transport::tcp::attr attr;
    char host[256] = "";
    const char *interface = getenv("GLOO_SOCKET_IFNAME");
    attr.ai_family = AF_UNSPEC;
    if (interface && *interface) attr.iface = std::string(interface, strcspn(interface, ","));
    else if (gethostname(host, sizeof host - 1) == 0 && name_is_local(host)) attr.hostname = host;
    else attr.hostname = "127.0.0.1";
    return attr;
}

} // namespace

struct engine {
    std::shared_ptr<gloo::transport::Device> device;
    std::shared_ptr<gloo::rendezvous::Context> context;
};

struct engine_request {
    std::unique_ptr<gloo::transport::UnboundBuffer> buffer;
    bool sends;
    int peer; // of a message that is sent
};

static engine *gloo_open(int *rank, int *size, const engine_store *store, int64_t timeout_ms,
                         char why[ENGINE_TEXT]) {
    try {
        if (!store) return say(why, "gloo needs a store"), nullptr;
        auto e = std::make_unique<engine>();
        Store keys(*store, timeout_ms);
        auto attr = device_attr();
        e->device = gloo::transport::tcp::CreateDevice(attr);
        e->context = std::make_shared<gloo::rendezvous::Context>(*rank, *size);
        e->context->setTimeout(wait_of(timeout_ms));
        if (*size > 1) e->context->connectFullMesh(keys, e->device);
        return e.release();
    } catch (const std::exception &x) {
        return say(why, x.what()), nullptr;
    }
}

static void gloo_close(engine *e) {
    try {
        delete e;
    } catch (const std::exception &) {
    }
}

static engine_request *gloo_send(engine *e, const void *data, size_t bytes, int to, uint64_t slot,
                                 char why[ENGINE_TEXT]) {
    try {
        auto r = std::make_unique<engine_request>();
        r->sends = true, r->peer = to;
        r->buffer = e->context->createUnboundBuffer(const_cast<void *>(data), bytes);
        r->buffer->send(to, slot);
        return r.release();
    } catch (const std::exception &x) {
        return say(why, x.what()), nullptr;
    }
}

static engine_request *gloo_receive(engine *e, void *data, size_t bytes, int n, const int *from,
                                    uint64_t slot, char why[ENGINE_TEXT]) {
    try {
        auto r = std::make_unique<engine_request>();
        r->sends = false, r->peer = n == 1 ? from[0] : -1;
        r->buffer = e->context->createUnboundBuffer(data, bytes);
        if (n == 1) r->buffer->recv(from[0], slot);
        else {
            std::vector<int> others;
            for (int i = 0; i < n; i++)
                if (from[i] != e->context->rank) others.push_back(from[i]);
            r->buffer->recv(others, slot);
        }
        return r.release();
    } catch (const std::exception &x) {
        return say(why, x.what()), nullptr;
    }
}

static engine_outcome gloo_wait(engine_request *r, int64_t timeout_ms, int *from,
                                char why[ENGINE_TEXT]) {
    try {
        int peer = r->peer;
        bool done = r->sends ? r->buffer->waitSend(&peer, wait_of(timeout_ms))
                             : r->buffer->waitRecv(&peer, wait_of(timeout_ms));
        if (from) *from = peer;
        if (done) return ENGINE_DONE;
        return say(why, "aborted"), ENGINE_LOST;
    } catch (const std::exception &x) {
        say(why, x.what());
        return strstr(x.what(), "Timed out waiting") ? ENGINE_LATE : ENGINE_LOST;
    }
}

static void gloo_release(engine_request *r) {
    try {
        delete r;
    } catch (const std::exception &) {
    }
}

extern "C" __attribute__((visibility("default"))) const engine_interface *ctsc_dist_engine(void) {
    static const engine_interface it = {ENGINE_INTERFACE, "gloo",       gloo_open,
                                        gloo_close,       gloo_send,    gloo_receive,
                                        gloo_wait,        gloo_release, nullptr};
    return &it;
}
