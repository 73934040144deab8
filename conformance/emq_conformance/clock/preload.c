/*
 * The server's side of the simulated clock: preloaded into a server process, it answers every
 * question about the wall clock with the instant in a shared page, which the harness writes.
 * Monotonic clocks stay real, so that the server's own timers go on.
 *
 * It also keeps a busy server awake: see epoll_wait below.
 *
 * EMQ_CLOCK_PAGE names the page: one int64, microseconds since 1970, in the machine's byte order.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h> /* struct timeval, without a gettimeofday whose type varies by libc */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(time_t) == 8, "a clock that is moved by decades needs a 64-bit time_t");

static const int64_t *page;
static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_epoll_wait)(int, struct epoll_event *, int, int);

/* Mapped on first use, which may be before any constructor ran. Two threads that race here
 * both map the same page. A forked child inherits the mapping. */
static int64_t instant(void)
{
    const int64_t *mapped = __atomic_load_n(&page, __ATOMIC_ACQUIRE);
    if (mapped == NULL) {
        const char *path = getenv("EMQ_CLOCK_PAGE");
        int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            mapped = mmap(NULL, sizeof *mapped, PROT_READ, MAP_SHARED, fd, 0);
            close(fd);
        }
        if (fd < 0 || mapped == MAP_FAILED) { /* never fall back to the real clock unnoticed */
            dprintf(STDERR_FILENO, "simulated clock: cannot map EMQ_CLOCK_PAGE=%s: %s\n",
                    path == NULL ? "(unset)" : path, strerror(errno));
            _exit(127);
        }
        __atomic_store_n(&page, mapped, __ATOMIC_RELEASE);
    }
    return __atomic_load_n(mapped, __ATOMIC_ACQUIRE);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        int64_t us = instant();
        now->tv_sec = us / 1000000;
        now->tv_nsec = us % 1000000 * 1000;
        return 0;
    }
    if (real_clock_gettime == NULL) /* before our constructor: too early for dlsym */
        return (int)syscall(SYS_clock_gettime, clock, now);
    return real_clock_gettime(clock, now);
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    int64_t us = instant();
    (void)zone;
    now->tv_sec = us / 1000000;
    now->tv_usec = us % 1000000;
    return 0;
}

time_t time(time_t *now)
{
    time_t seconds = instant() / 1000000;
    if (now != NULL)
        *now = seconds;
    return seconds;
}

/* A server that finds a constant TSC in /proc/cpuinfo interpolates the wall clock from it and
 * asks us only once a millisecond. One that cannot read the file asks every time. */
FILE *fopen(const char *restrict path, const char *restrict mode)
{
    static FILE *(*real_fopen)(const char *, const char *);
    if (strcmp(path, "/proc/cpuinfo") == 0) {
        errno = ENOENT;
        return NULL;
    }
    if (real_fopen == NULL)
        real_fopen = (FILE *(*)(const char *, const char *))dlsym(RTLD_NEXT, "fopen");
    return real_fopen(path, mode);
}

#ifdef __GLIBC__ /* with a 64-bit off_t the two are one; elsewhere fopen64 is a macro or absent */
FILE *fopen64(const char *restrict path, const char *restrict mode)
{
    return fopen(path, mode);
}
#endif

static int64_t elapsed_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* The suite asks one thing at a time, and its next question comes within a fraction of a
 * millisecond: falling asleep and being woken up takes longer than answering. */
int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout)
{
    const int64_t patience_us = 1000;
    int64_t deadline;
    int found;
    if (real_epoll_wait == NULL) /* before our constructor */
        return (int)syscall(SYS_epoll_pwait, epoll, events, most, timeout, NULL, (size_t)8);
    if (timeout >= 0 && timeout < 2)
        return real_epoll_wait(epoll, events, most, timeout);
    deadline = elapsed_us() + patience_us;
    do {
        if ((found = real_epoll_wait(epoll, events, most, 0)) != 0)
            return found;
    } while (elapsed_us() < deadline);
    return real_epoll_wait(epoll, events, most, timeout < 0 ? timeout : timeout - 1);
}

__attribute__((constructor)) static void set_up(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the watchdog die, so does the server */
    instant();                        /* now, while the environment is as it was given */
    real_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    real_epoll_wait =
        (int (*)(int, struct epoll_event *, int, int))dlsym(RTLD_NEXT, "epoll_wait");
}
