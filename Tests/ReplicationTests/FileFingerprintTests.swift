import DurableFiles
import Replication
import Testing

@Suite("A file that nobody wrote to")
struct FileFingerprintTests {
    @Test(
        "a later change is sure to show when the clock is elsewhere, be it set back or ahead",
        arguments: [
            (0, false), (20_000_000, false), (-20_000_000, false), (20_000_001, true),
            (-20_000_001, true), (-3_600_000_000_000, true), (Int64.max, true),
        ] as [(Int64, Bool)]
    )
    func settled(distance: Int64, isSettled: Bool) {
        let changed: Int64 = 1_760_000_000_000_000_000
        let print = FileFingerprint(
            identity: FileIdentity(device: 1, inode: 2),
            sizeInBytes: 4_096,
            modifiedNanoseconds: changed,
            changedNanoseconds: changed
        )
        #expect(print.isSettled(at: changed &+ distance) == isSettled)
    }
}
