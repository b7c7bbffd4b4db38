import TestSupport
import Testing

/// Everything that takes a real service manager, one test at a time.
@Suite(
    "Under a real systemd",
    .serialized,
    .enabled(if: Box.isPossible, Box.missing),
    .timeLimit(.minutes(2))
)
enum SystemdTests {}
