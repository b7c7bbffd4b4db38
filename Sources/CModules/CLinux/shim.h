// The parts of libc that the Glibc overlay leaves out.
//
// Without _GNU_SOURCE: it would give structures of libc other members than the overlay knows.
#include <getopt.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

/// Lets the kernel begin to write a file's dirty pages, and does not wait for them.
static inline void clinux_start_writeback(int descriptor) {
    // SYNC_FILE_RANGE_WRITE, which <fcntl.h> shows to GNU sources only.
    (void)syscall(SYS_sync_file_range, descriptor, 0L, 0L, 2U);
}

/// Has a new process close every descriptor from a number on.
static inline int clinux_close_from(posix_spawn_file_actions_t *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

/// Gives a new process a session of its own.
static inline short clinux_new_session(void) {
    // POSIX_SPAWN_SETSID, which <spawn.h> shows to GNU sources only.
    return 0x80;
}
