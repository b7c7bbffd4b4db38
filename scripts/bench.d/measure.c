// Runs one command and writes what it cost as a line of JSON.
//
// A process of its own because a child's peak memory is counted from what its parent holds when it
// is started: below a big parent every small child looks as big as the parent. What the command
// started counts too, also when the command did not wait for it.
//
// Usage: measure RESULT COMMAND [ARGUMENT]...

#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static _Noreturn void fail(const char *what, int code) {
    fprintf(stderr, "measure: %s: %s\n", what, strerror(code));
    exit(125);
}

static long long nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long microseconds(struct timeval time) {
    return time.tv_sec * 1000000LL + time.tv_usec;
}

int main(int count, char **words) {
    if (count < 3) {
        fprintf(stderr, "usage: measure RESULT COMMAND [ARGUMENT]...\n");
        return 2;
    }
    // Whoever is left behind by the command becomes a child of this process.
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) fail("prctl", errno);

    pid_t command;
    long long started = nanoseconds();
    int failure = posix_spawnp(&command, words[2], NULL, NULL, words + 2, environ);
    if (failure != 0) fail(words[2], failure);

    long long wall = 0, user = 0, system = 0, written = 0, waits = 0, peak = 0;
    int code = 125;
    for (;;) {
        int status;
        struct rusage usage;
        pid_t child = wait4(-1, &status, 0, &usage);
        if (child < 0 && errno == EINTR) continue;
        if (child < 0 && errno == ECHILD) break;
        if (child < 0) fail("wait4", errno);
        if (child == command) {
            wall = nanoseconds() - started;
            code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        }
        user += microseconds(usage.ru_utime);
        system += microseconds(usage.ru_stime);
        written += usage.ru_oublock;
        waits += usage.ru_nvcsw;
        if (usage.ru_maxrss > peak) peak = usage.ru_maxrss;
    }

    FILE *file = fopen(words[1], "w");
    if (file == NULL) fail(words[1], errno);
    fprintf(file,
            "{\"status\": %d, \"wall_ns\": %lld, \"user_us\": %lld, \"system_us\": %lld, "
            "\"peak_kib\": %lld, \"written_blocks\": %lld, \"waits\": %lld}\n",
            code, wall, user, system, peak, written, waits);
    if (fclose(file) != 0) fail(words[1], errno);
    return code;
}
