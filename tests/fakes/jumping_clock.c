/*
 * A wall clock that jumps an hour ahead and back, each second; for LD_PRELOAD. Clocks for durations are left alone.
 *
 *     cc -shared -fPIC -o jumping_clock.so jumping_clock.c
 */

#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define HOUR_S 3600

int clock_gettime(clockid_t clock, struct timespec *now)
{
    struct timespec steady;

    if (syscall(SYS_clock_gettime, clock, now))
        return -1;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &steady);
        now->tv_sec += steady.tv_sec % 2 ? HOUR_S : -HOUR_S;
    }
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec exact;

    clock_gettime(CLOCK_REALTIME, &exact);
    if (now)
        *now = exact.tv_sec;
    return exact.tv_sec;
}
