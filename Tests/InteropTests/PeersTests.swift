import Foundation
import TestSupport
import Testing

@Suite("The peers")
struct PeersTests {
    private static let isCI = ProcessInfo.processInfo.environment["CI"] == "true"

    @Test(
        "are all there in CI, where a skipped test would look like a pass",
        .enabled(if: isCI, "only CI must have them")
    )
    func peersArePresentInCI() {
        #expect(Peers.absent.map(\.path) == [], Peers.missing)
    }

    @Test(
        "are the releases that the project pins",
        .enabled(if: Peers.areInstalled, Peers.missing)
    )
    func releases() async throws {
        let litestream = try await runProcess(Peers.litestream, ["version"])
        #expect(litestream.stdout == "0.5.17\n")
        let apsw = try await runProcess(
            Peers.python,
            ["-c", "import apsw; print(apsw.apsw_version(), apsw.sqlite_lib_version())"]
        )
        #expect(apsw.stdout == "3.54.1.0 3.54.1\n")
    }
}
