import DurableFiles
import Foundation
import Sink
import TestSupport
import Testing

@Suite("The room that a sink leaves")
struct DiskGuardTests {
    @Test(
        "a write may begin when the reserve is there after it",
        arguments: [
            (DiskReserve.bytes(100), 1_000, 100, 0, true), (.bytes(100), 1_000, 99, 0, false),
            (.bytes(100), 1_000, 200, 100, true), (.bytes(100), 1_000, 200, 101, false),
            (.bytes(0), 1_000, 0, 0, true), (.bytes(0), 1_000, 0, 1, false),
            (.bytes(.max), .max, .max, 1, false), (.bytes(-5), 10, 0, 0, true),
            (.share(500), 1_000_000, 50_000, 0, true), (.share(500), 1_000_000, 49_999, 0, false),
            (.share(0), 1_000_000, 0, 0, true), (.share(10_000), 1_000_000, 999_999, 0, false),
            (.share(9_000), .max, 0, 0, false), (.share(500), 1_000_000, 60_000, -1, true),
        ] as [(DiskReserve, Int64, Int64, Int64, Bool)]
    )
    func decisions(
        reserve: DiskReserve,
        total: Int64,
        available: Int64,
        incoming: Int64,
        isAllowed: Bool
    ) {
        let decision = DiskGuard(reserve: reserve).decision(
            DiskSpace(total: total, available: available),
            incoming: incoming
        )
        #expect((decision == .ok) == isAllowed)
        #expect((decision.reason == nil) == isAllowed)
    }

    @Test("a refusal tells the numbers, and ends by itself when there is room")
    func numbers() {
        let disk = DiskGuard(reserve: .bytes(100))
        let refused = disk.decision(DiskSpace(total: 1_000, available: 60), incoming: 7)
        #expect(refused == .refuse(available: 60, reserve: 100, incoming: 7))
        #expect(refused.reason == "60 bytes are free, 100 must stay, 7 were to come")
        #expect(disk.decision(DiskSpace(total: 1_000, available: 107), incoming: 7) == .ok)
    }

    @Test("the room of a real file system is read")
    func real() throws {
        try withTemporaryDirectory { directory in
            let space = try DiskSpace.of(directory.path)
            #expect(space.total > 0 && space.available <= space.total)
            #expect(
                try DiskGuard(reserve: .bytes(0)).decision(at: directory.path, incoming: 0) == .ok
            )
        }
    }
}
