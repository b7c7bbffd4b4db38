import Foundation
import Telemetry
import TestSupport
import Testing

@Suite("the journal")
struct JournalTests {
    @Test("records that matter less than the minimum are not written")
    func minimum() {
        let capture = JournalCapture()
        let journal = Journal(capture, minimum: .notice)
        journal.write(.push, .info, "push ended")
        journal.write(.start, .notice, "started")
        journal.write(.custodyLost, .error, "the place in the WAL was lost")
        #expect(capture.records.map(\.kind) == [.start, .custodyLost])
    }

    @Test("common fields ride on every record, behind its own, and do not replace them")
    func commonFields() {
        let capture = JournalCapture()
        let journal = Journal(capture).with([.database: "/a.db", .device: "strap"])
            .with([.database: "/b.db"])
        journal.write(.push, .info, "push ended", [.outcome: "pushed", .device: "other"])
        let record = capture.records[0]
        #expect(record.entries.map(\.field) == [.outcome, .device, .database])
        #expect(record[.device] == "other")
        #expect(record[.database] == "/b.db")
    }

    @Test("setting a field again replaces it, and nil takes it out")
    func fields() {
        var record = JournalRecord(.push, .info, "push ended", [.txid: "1", .rows: FieldValue(7)])
        record[.txid] = "2"
        record[.rows] = nil
        record[.pages] = nil
        record[.durationUsec] = FieldValue(microseconds: .milliseconds(1_500))
        #expect(record.entries.map(\.field) == [.txid, .durationUsec])
        #expect(record[.txid] == "2")
        #expect(record[.durationUsec] == "1500000")
    }

    @Test("a test can wait for a record")
    func stream() async {
        let capture = JournalCapture()
        let journal = Journal(capture)
        journal.write(.start, .notice, "started")
        let found = Task { await capture.stream.first { $0.kind == .flush } }
        journal.write(.flush, .info, "flushed", [.rows: FieldValue(30)])
        #expect(await found.value?[.rows] == "30")
    }

    @Test("JOURNAL_STREAM counts only when it names the descriptor's own device and inode")
    func journalStream() throws {
        try withTemporaryDirectory { directory in
            let path = directory.appending(path: "x").path
            let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
            defer { close(descriptor) }
            var status = stat()
            #expect(fstat(descriptor, &status) == 0)
            let right = "\(status.st_dev):\(status.st_ino)"
            #expect(JournalConnection.matches(right, descriptor: descriptor))
            let wrong = [
                nil, "", ":", "\(status.st_dev):", "\(status.st_dev):\(status.st_ino + 1)",
                "\(status.st_dev + 1):\(status.st_ino)", right + ":1", " " + right, "x:y",
            ]
            for stream in wrong {
                #expect(!JournalConnection.matches(stream, descriptor: descriptor))
            }
            #expect(!JournalConnection.matches(right, descriptor: -1))
        }
    }

    @Test(
        "where records go follows from the format and the connection",
        arguments: [
            (.auto, false, true, false), (.auto, true, true, true),
            (.journal, false, true, true), (.journal, false, false, false),
            (.journal, true, false, true), (.logfmt, true, true, false),
        ] as [(Journal.Format, Bool, Bool, Bool)]
    )
    func destination(format: Journal.Format, isStream: Bool, hasSocket: Bool, uses: Bool) {
        let connection = JournalConnection(standardErrorIsJournal: isStream, hasSocket: hasSocket)
        #expect(Journal(format, connection: connection).usesJournal == uses)
    }
}

@Suite("a log that gets stuck")
struct OutletTests {
    /// A log whose first record stays in the writer until the gate is opened.
    private final class StuckLog: Sendable {
        let written = Locked<[JournalRecord]>([])
        let gate = DispatchSemaphore(value: 0)
        let entered = DispatchSemaphore(value: 0)
        let progress: AsyncStream<JournalRecord>
        private let report: AsyncStream<JournalRecord>.Continuation

        init() {
            (progress, report) = AsyncStream.makeStream()
        }

        func write(_ record: JournalRecord) {
            entered.signal()
            gate.wait()
            written.withLock { $0.append(record) }
            report.yield(record)
        }
    }

    @Test("records come out in order, each before its caller goes on")
    func inOrder() {
        let written = Locked<[String]>([])
        let outlet = Outlet { record in
            written.withLock { $0.append(record[.txid]?.description ?? "") }
        }
        for number in 0..<100 {
            outlet.write(JournalRecord(.push, .info, "push ended", [.txid: FieldValue(number)]))
            #expect(written.withLock { $0.count } == number + 1)
        }
        #expect(written.withLock { $0 } == (0..<100).map(String.init))
    }

    @Test("writers from many threads lose nothing")
    func manyThreads() async {
        let count = Locked(0)
        let outlet = Outlet { _ in count.withLock { $0 += 1 } }
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<200 { outlet.write(JournalRecord(.flush, .info, "flushed")) }
                }
            }
        }
        #expect(count.withLock { $0 } == 1_600)
    }

    @Test("a caller waits once, then goes on; what has no room is counted and told")
    func stuck() async {
        let log = StuckLog()
        let outlet = Outlet(capacity: 4, patience: .milliseconds(20)) { log.write($0) }
        func write(_ number: Int) {
            outlet.write(JournalRecord(.push, .info, "push ended", [.txid: FieldValue(number)]))
        }
        // Waits for its 20 ms in vain, with record 0 inside the writer.
        write(0)
        // 1 to 4 have room, 5 to 9 do not; nobody waits any more.
        let clock = ContinuousClock()
        let elapsed = clock.measure { for number in 1...9 { write(number) } }
        #expect(elapsed < .seconds(1))
        for _ in 0..<6 { log.gate.signal() }
        var seen: [String] = []
        for await record in log.progress {
            seen.append(record[.txid]?.description ?? record[.dropped]?.description ?? "")
            if record.kind == .dropped { break }
        }
        #expect(seen.first == "0")
        #expect(seen.last == "5", "the number of lost records")
        #expect(Array(seen.dropLast()) == ["0", "1", "2", "3", "4"])
    }
}
