/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_interrupt.c - Ctrl-C ends a running call.
 *
 * Python's handler of SIGINT only sets a flag, and nobody reads it while the library works. So
 * our own handler is installed before it: it calls Python's and cancels (ctsc_cancel) the call
 * on the main thread. It is installed at a call, and again if somebody has replaced it since
 * (signal.signal); that is checked at most once per millisecond, since it is a system call.
 */
#include "bind.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

static struct sigaction before;
static ctsc_cancel *the_cancel;
static volatile sig_atomic_t running, came;
static pthread_t main_thread;
static bool main_known;
static uint64_t looked_at;

static void on_signal(int number, siginfo_t *info, void *context) {
    if (running) {
        came = 1;
        ctsc_cancel_set(the_cancel);
    }
    if (before.sa_flags & SA_SIGINFO) before.sa_sigaction(number, info, context);
    else if (before.sa_handler != SIG_IGN && before.sa_handler != SIG_DFL)
        before.sa_handler(number);
}

static uint64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void look(void) {
    struct sigaction now;
    if (sigaction(SIGINT, NULL, &now) != 0 ||
        ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal))
        return;
    /* ends the process, or nothing */
    if (!(now.sa_flags & SA_SIGINFO) && (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN))
        return;
    before = now;
    struct sigaction own = now;
    own.sa_flags |= SA_SIGINFO;
    own.sa_sigaction = on_signal;
    sigaction(SIGINT, &own, NULL);
}

/* Whether this thread is Python's main one: the hook says so once per thread. */
static bool is_main(void) {
    static __thread int known; /* 0: not asked, 1: yes, 2: no */
    if (known) return known == 1;
    if (!main_known) {
        PyObject *threading = PyImport_ImportModule("threading");
        PyObject *t = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL,
                 *id = t ? PyObject_GetAttrString(t, "ident") : NULL;
        if (id && PyLong_Check(id)) {
            main_thread = (pthread_t)PyLong_AsUnsignedLong(id);
            main_known = true;
        }
        PyErr_Clear();
        Py_XDECREF(threading);
        Py_XDECREF(t);
        Py_XDECREF(id);
    }
    known = main_known && pthread_equal(main_thread, pthread_self()) ? 1 : 2;
    return known == 1;
}

const ctsc_cancel *bind_interrupt_enter(void) {
    if (running || !is_main()) return NULL;
    if (!the_cancel && !(the_cancel = ctsc_cancel_new())) return NULL;
    uint64_t now = now_us();
    if (now - looked_at > 1000) {
        looked_at = now;
        look();
    }
    running = 1;
    return the_cancel;
}

bool bind_interrupt_leave(const ctsc_cancel *c, bool failed) {
    if (!c) return false;
    running = 0;
    if (!came) return false;
    came = 0;
    ctsc_cancel_clear(the_cancel);
    return failed && PyErr_CheckSignals() < 0;
}
