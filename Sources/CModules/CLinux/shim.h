// The parts of libc that the Glibc overlay leaves out.
#include <getopt.h>
#include <sys/inotify.h>
