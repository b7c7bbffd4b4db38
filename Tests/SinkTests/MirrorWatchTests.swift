import LTXCodec
import Replica
import Sink
import Testing

@Suite("What is told of a live copy")
struct MirrorWatchTests {
    private func status(_ applied: UInt64, of bucket: UInt64, diverged: Bool = false)
        -> MirrorStatus
    {
        var status = MirrorStatus()
        status.appliedTXID = TXID(applied)
        status.bucketTXID = TXID(bucket)
        if diverged {
            status.divergence = .init(
                txid: TXID(applied),
                expected: Checksum(rawValue: 1),
                actual: Checksum(rawValue: 2)
            )
        }
        return status
    }

    @Test("a copy that is behind but moves is busy, and nothing is said")
    func busy() {
        var watch = MirrorWatch()
        for applied in 1...5 as ClosedRange<UInt64> {
            #expect(watch.look(status(applied, of: applied + 3)) == [])
        }
        #expect(watch.look(status(8, of: 8)) == [])
    }

    @Test("a copy that stands still behind its bucket lags, told once, and once that it is over")
    func lagging() {
        var watch = MirrorWatch()
        #expect(watch.look(status(5, of: 6)) == [])
        var stuck = status(5, of: 9)
        stuck.failure = "locked"
        let finding = MirrorWatch.Finding.lagging(
            applied: TXID(5),
            bucket: TXID(9),
            holder: nil,
            why: "locked"
        )
        #expect(watch.look(stuck) == [finding])
        #expect(watch.look(stuck) == [])
        #expect(watch.look(status(7, of: 9)) == [], "on its way is not there yet")
        #expect(watch.look(status(9, of: 9)) == [.caughtUp(txid: TXID(9))])
        #expect(watch.look(status(9, of: 9)) == [])
    }

    @Test("a difference is told once, and once that it is over; standing still is part of it")
    func diverged() {
        var watch = MirrorWatch()
        let finding = MirrorWatch.Finding.diverged(
            txid: TXID(5),
            expected: Checksum(rawValue: 1),
            actual: Checksum(rawValue: 2)
        )
        #expect(watch.look(status(5, of: 5, diverged: true)) == [finding])
        for bucket in 6...9 as ClosedRange<UInt64> {
            #expect(watch.look(status(5, of: bucket, diverged: true)) == [])
        }
        #expect(watch.look(status(10, of: 10)) == [.converged(txid: TXID(10))])
    }

    @Test("a copy of an idle database is looked at for ever without a word")
    func idle() {
        var watch = MirrorWatch()
        for _ in 0..<10 { #expect(watch.look(status(5, of: 5)) == []) }
        #expect(watch.look(MirrorStatus()) == [])
    }
}
