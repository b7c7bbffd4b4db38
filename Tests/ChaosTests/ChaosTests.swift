import TestSupport
import Testing

/// Tests that watch the built program from outside, one after the other.
///
/// They are load tests as well, so two at a time would disturb each other. The long variants run
/// with `DORMOUSE_FULL=1`.
@Suite(
    "Chaos",
    .serialized,
    .enabled(if: Peers.areInstalled, Peers.missing)
)
enum ChaosTests {}
