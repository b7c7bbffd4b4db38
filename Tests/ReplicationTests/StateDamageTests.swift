import Bucket
import Foundation
import LTXCodec
import Replication
import SQLiteBridge
import TestSupport
import Testing

/// What somebody does to the replicator's own files between two pushes.
private enum Damage: String, CaseIterable, Sendable {
    case ledgerDeleted, ledgerTruncated, ledgerEmpty, ledgerHeaderFlipped, ledgerEntryFlipped
    case ledgerEntryZeroed, ledgerBehind, ledgerAhead, ledgerOfAnotherDatabase, ledgerIsGarbage
    case stateDeleted, stateEmpty, stateGarbage, stateFromTheFuture, stateHuge, stateFlipped
    case stateAndLedgerDeleted, stateDeletedAndForeignLedger
    case newestFileGarbage, newestFileCut, newestFileDeleted, oldTemporaries, metaDeleted

    /// A note has to say so.
    var isNoted: Bool {
        switch self {
        case .stateEmpty, .stateGarbage, .stateFromTheFuture, .stateHuge, .stateFlipped: true
        case .newestFileGarbage: true
        default: false
        }
    }
}

@Suite(
    "Damage to what a replicator keeps",
    .serialized,
    .enabled(if: Peers.areInstalled, Peers.missing)
)
struct StateDamageTests {
    private func flip(_ path: String, at index: Int) throws {
        var bytes = try Data(contentsOf: URL(filePath: path))
        bytes[index] ^= 0x10
        try bytes.write(to: URL(filePath: path))
    }

    private func newestFile(_ source: Source) throws -> String {
        let directory = source.metaPath + "/ltx/0"
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        return directory + "/" + (try #require(names.filter { $0.hasSuffix(".ltx") }.max()))
    }

    /// Replaces a file without touching what other names of it lead to.
    private func replace(_ path: String, with bytes: Data) throws {
        try FileManager.default.removeItem(atPath: path)
        try bytes.write(to: URL(filePath: path))
    }

    private func apply(_ damage: Damage, to source: Source, behind: Data, foreign: Data) throws {
        let files = FileManager.default
        let (state, ledger) = (source.statePath, source.ledgerPath)
        switch damage {
        case .ledgerDeleted: try files.removeItem(atPath: ledger)
        case .ledgerTruncated:
            let bytes = try Data(contentsOf: URL(filePath: ledger))
            try bytes.dropLast(9).write(to: URL(filePath: ledger))
        case .ledgerEmpty: try Data().write(to: URL(filePath: ledger))
        case .ledgerHeaderFlipped: try flip(ledger, at: 12)
        case .ledgerEntryFlipped: try flip(ledger, at: 64 + 8 * 3)
        case .ledgerEntryZeroed:
            var bytes = try Data(contentsOf: URL(filePath: ledger))
            bytes.replaceSubrange(64..<72, with: Data(count: 8))
            try bytes.write(to: URL(filePath: ledger))
        case .ledgerBehind: try behind.write(to: URL(filePath: ledger))
        case .ledgerAhead:
            let file = LedgerFile(path: ledger)
            var future = try #require(try file.load()).ledger
            future.apply(txid: future.txid.next, commit: future.commit, pages: [])
            try file.replace(with: future)
        case .ledgerOfAnotherDatabase: try foreign.write(to: URL(filePath: ledger))
        case .ledgerIsGarbage: try Data(repeating: 7, count: 500).write(to: URL(filePath: ledger))
        case .stateDeleted: try files.removeItem(atPath: state)
        case .stateEmpty: try Data().write(to: URL(filePath: state))
        case .stateGarbage: try Data(repeating: 0xFE, count: 300).write(to: URL(filePath: state))
        case .stateFromTheFuture:
            let text = try String(contentsOfFile: state, encoding: .utf8)
            let body =
                text.replacing("dormouse-state 1", with: "dormouse-state 9")
                .split(separator: "\n").dropLast().joined(separator: "\n") + "\n"
            var crc = CRC64()
            Array(body.utf8).withUnsafeBytes { crc.update($0) }
            let sum = String(crc.value, radix: 16)
            let padded = String(repeating: "0", count: 16 - sum.count) + sum
            try Data((body + "crc \(padded)\n").utf8).write(to: URL(filePath: state))
        case .stateHuge: try Data(count: 3 << 20).write(to: URL(filePath: state))
        case .stateFlipped: try flip(state, at: 40)
        case .stateAndLedgerDeleted:
            try files.removeItem(atPath: state)
            try files.removeItem(atPath: ledger)
        case .stateDeletedAndForeignLedger:
            try files.removeItem(atPath: state)
            try foreign.write(to: URL(filePath: ledger))
        case .newestFileGarbage:
            try replace(
                newestFile(source),
                with: Data((0..<60).map { UInt8(truncatingIfNeeded: $0 * 37) })
            )
        case .newestFileCut:
            let path = try newestFile(source)
            try replace(path, with: Data(contentsOf: URL(filePath: path)).dropLast(5))
        case .newestFileDeleted: try files.removeItem(atPath: newestFile(source))
        case .oldTemporaries:
            for name in ["dormouse-state.tmp", "ltx/0/0000000000000009-0000000000000009.ltx.tmp"] {
                try Data(count: 100).write(to: URL(filePath: source.metaPath + "/" + name))
            }
        case .metaDeleted: try files.removeItem(atPath: source.metaPath)
        }
    }

    /// A ledger of a database with as many pages and pushes.
    private func foreignLedger() async throws -> Data {
        let box = Box()
        try await withSource { source in
            try await prepare(source)
            box.data = try Data(contentsOf: URL(filePath: source.ledgerPath))
        }
        return box.data
    }

    private final class Box: @unchecked Sendable { var data = Data() }

    /// Pushes three times; returns the ledger as it was before the last one.
    @discardableResult
    private func prepare(_ source: Source) async throws -> Data {
        let replicator = source.replicator()
        try source.insert(60)
        #expect(await replicator.push().outcome == .pushed)
        try source.insert(10)
        #expect(await replicator.push().outcome == .pushed)
        let behind = try Data(contentsOf: URL(filePath: source.ledgerPath))
        try source.app.execute("UPDATE t SET v = randomblob(90) WHERE id % 5 = 0")
        #expect(await replicator.push().outcome == .pushed)
        await replicator.close()
        return behind
    }

    @Test(
        "is found out and healed, whether the place is still known or not",
        arguments: Damage.allCases,
        [false, true]
    )
    fileprivate func damage(_ damage: Damage, losesPlace: Bool) async throws {
        let foreign = try await foreignLedger()
        try await withSource { source in
            let behind = try await prepare(source)
            try apply(damage, to: source, behind: behind, foreign: foreign)
            try source.app.execute("UPDATE t SET v = randomblob(95) WHERE id % 7 = 0")
            if losesPlace {
                _ = try source.app.checkpoint(.truncate)
                try source.insert(2)
            }
            let replicator = source.replicator()
            // As an agent begins: what is found then is in the record of its first push.
            try await replicator.start()
            let push = await replicator.push()
            #expect(push.outcome == .pushed, "\(push.outcome) \(push.notes)")
            if damage.isNoted { #expect(!push.notes.isEmpty) }
            if case .snapshot = push.kind { Issue.record("\(push.kind) \(push.notes)") }
            try await source.expectRestorable("\(damage)")

            // Healed: another loss of the place costs a scan and no more.
            await replicator.close()
            _ = try source.app.checkpoint(.truncate)
            try source.insert(2)
            let heir = source.replicator()
            let next = await heir.push()
            #expect(next.outcome == .pushed)
            if case .rescan = next.kind {} else { Issue.record("\(next.kinds) \(next.notes)") }
            try await source.expectRestorable("\(damage), afterwards")
            await heir.close()
        }
    }

    @Test("a ledger that vanishes while it is in use is made anew", arguments: ["delete", "cut"])
    func ledgerVanishes(how: String) async throws {
        try await withSource { source in
            try source.insert(60)
            let replicator = source.replicator()
            #expect(await replicator.push().outcome == .pushed)
            if how == "delete" {
                try FileManager.default.removeItem(atPath: source.ledgerPath)
            } else {
                try Data().write(to: URL(filePath: source.ledgerPath))
            }
            for _ in 0..<3 {
                try source.insert(5)
                let push = await replicator.push()
                #expect(push.outcome == .pushed, "\(push.outcome)")
                #expect(push.kinds == [.wal])
            }
            await replicator.close()
            let heir = source.replicator()
            try source.insert(5)
            #expect(await heir.push().kinds == [.wal])
            try await source.expectRestorable()
            await heir.close()
        }
    }

    @Test("a ledger that a kill left behind stays right when it goes on from there")
    func ledgerLeftBehind() async throws {
        try await withSource { source in
            // The files of the last push stand where a kill between them and the ledger leaves them.
            let behind = try await prepare(source)
            try behind.write(to: URL(filePath: source.ledgerPath))
            var replicator = source.replicator()
            try source.insert(1)
            #expect(await replicator.push().kinds == [.wal])
            await replicator.close()

            // A lost place needs every entry, and those of the file before last, too.
            _ = try source.app.checkpoint(.truncate)
            try source.insert(2)
            replicator = source.replicator()
            let push = await replicator.push()
            #expect(push.notes.isEmpty, "\(push.notes)")
            if case .rescan = push.kind {} else { Issue.record("\(push.kinds)") }
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("a file that is missing in the backlog is made good from the database")
    func backlogGap() async throws {
        try await withSource { source in
            try source.insert(60)
            var replicator = source.replicator()
            #expect(await replicator.push().outcome == .pushed)
            for _ in 0..<3 {
                try source.insert(5)
                _ = try await replicator.sync()
            }
            await replicator.close()
            let middle = source.metaPath + "/ltx/0/0000000000000003-0000000000000003.ltx"
            try FileManager.default.removeItem(atPath: middle)
            replicator = source.replicator()
            let push = await replicator.push()
            #expect(push.outcome == .pushed, "\(push.outcome)")
            #expect(!push.notes.isEmpty)
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("garbage at the end of the backlog is set aside, above all that is known (B08)")
    func backlogGarbage() async throws {
        try await withSource { source in
            try source.insert(60)
            var replicator = source.replicator()
            #expect(await replicator.push().outcome == .pushed)
            for _ in 0..<3 {
                try source.insert(5)
                _ = try await replicator.sync()
            }
            await replicator.close()
            let newest = try newestFile(source)
            try replace(newest, with: Data((0..<60).map { UInt8(truncatingIfNeeded: $0 * 37) }))
            replicator = source.replicator()
            try source.insert(1)
            let push = await replicator.push()
            #expect(push.outcome == .pushed, "\(push.outcome)")
            #expect(push.notes.contains { $0.contains("unusable-1") }, "\(push.notes)")
            #expect(FileManager.default.fileExists(atPath: newest + ".unusable-1"))
            #expect(push.txid > TXID(4))
            if case .snapshot = push.kind { Issue.record("\(push.kinds)") }
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    // MARK: The database

    @Test("a database that is replaced while it is closed becomes a delta")
    func replacedWhileClosed() async throws {
        try await withSource { source in
            try source.insert(100)
            var replicator = source.replicator()
            #expect(await replicator.push().outcome == .pushed)
            await replicator.close()
            try source.app.close()
            try await source.replaceDatabase { try $0.insert(70) }
            replicator = source.replicator()
            let push = await replicator.push()
            #expect(push.outcome == .pushed)
            #expect(push.kinds == [.rescan(.databaseReplaced)])
            #expect(!push.notes.isEmpty)
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("a database that is replaced while it is open is noticed", arguments: PinMode.allCases)
    func replacedWhileOpen(pin: PinMode) async throws {
        try await withSource { source in
            try source.insert(100)
            let replicator = source.replicator { $0.pin = pin }
            #expect(await replicator.push().outcome == .pushed)
            try source.app.close()
            try await source.replaceDatabase { try $0.insert(70) }
            let push = await replicator.push()
            #expect(push.outcome == .pushed, "\(push.outcome)")
            #expect(push.kinds == [.rescan(.databaseReplaced)])
            #expect(!push.notes.isEmpty)
            try await source.expectRestorable()
            let foreign = try ForeignProcess(source.path)
            try foreign.open()
            try foreign.insert(3)
            #expect(await replicator.push().kinds == [.wal])
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("a database that is deleted is waited for", arguments: [true, false])
    func deleted(isOpen: Bool) async throws {
        try await withSource { source in
            try source.insert(100)
            var replicator = source.replicator()
            #expect(await replicator.push().outcome == .pushed)
            try source.app.close()
            if !isOpen { await replicator.close() }
            for suffix in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: source.path + suffix)
            }
            if !isOpen { replicator = source.replicator() }
            for _ in 0..<2 {
                let push = await replicator.push()
                guard case .unavailable(.databaseMissing, let detail) = push.outcome else {
                    Issue.record("\(push.outcome)")
                    continue
                }
                #expect(detail.contains(source.path))
            }
            #expect(!FileManager.default.fileExists(atPath: source.path))
            try await source.replaceDatabase { try $0.insert(20) }
            let push = await replicator.push()
            #expect(push.outcome == .pushed, "\(push.outcome)")
            // A file system may give the new file the number of the old one.
            let kinds: [SyncKind] = [.rescan(.databaseReplaced), .rescan(.walMissing)]
            #expect(push.kinds.count == 1 && kinds.contains(push.kinds[0]), "\(push.kinds)")
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("a WAL that is deleted under us never makes a wrong restore", arguments: PinMode.allCases)
    func walDeleted(pin: PinMode) async throws {
        try await withSource { source in
            // An application with SQLite's own settings: its last close copies the WAL back.
            try source.app.close()
            let foreign = try ForeignProcess(source.path)
            try foreign.open()
            try foreign.insert(100)
            let replicator = source.replicator { $0.pin = pin }
            #expect(await replicator.push().outcome == .pushed)
            try foreign.insert(5)
            #expect(await replicator.push().outcome == .pushed)
            try FileManager.default.removeItem(atPath: source.path + "-wal")
            let push = await replicator.push()
            #expect(!push.outcome.isSuccess, "\(push.outcome)")
            #expect(!push.notes.isEmpty)
            // It still writes into the file that has no name any more.
            try foreign.insert(5)
            let again = await replicator.push()
            #expect(!again.outcome.isSuccess, "\(again.outcome)")
            await replicator.close()
            try foreign.close()
            try foreign.open()
            try foreign.insert(1)
            let after = await replicator.push()
            #expect(after.outcome == .pushed, "\(after.outcome)")
            if case .rescan = after.kind {} else { Issue.record("\(after.kinds)") }
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("a database that leaves WAL mode and comes back goes on with a delta")
    func leavesWALMode() async throws {
        try await withSource { source in
            try source.insert(100)
            let replicator = source.replicator()
            #expect(await replicator.push().outcome == .pushed)
            await replicator.close()
            try source.app.close()
            let foreign = try ForeignProcess(source.path)
            try foreign.open()
            try foreign.sql("PRAGMA journal_mode=DELETE")
            try foreign.insert(3)
            let push = await replicator.push()
            guard case .unavailable(.notWALMode, _) = push.outcome else {
                Issue.record("\(push.outcome)")
                return
            }
            try foreign.sql("PRAGMA journal_mode=WAL")
            try foreign.insert(3)
            let next = await replicator.push()
            #expect(next.outcome == .pushed, "\(next.outcome)")
            if case .rescan = next.kind {} else { Issue.record("\(next.kinds)") }
            try await source.expectRestorable()
            await replicator.close()
        }
    }

    @Test("another page size is a snapshot that says so, and deltas go on from it")
    func pageSizeChanges() async throws {
        try await withSource { source in
            try source.insert(100)
            var replicator = source.replicator()
            #expect(await replicator.push().outcome == .pushed)
            try source.insert(10)
            #expect(await replicator.push().outcome == .pushed)
            await replicator.close()
            try source.app.close()
            let foreign = try ForeignProcess(source.path)
            try foreign.open()
            for size in [8192, 512] {
                try foreign.sql("PRAGMA journal_mode=DELETE")
                try foreign.sql("PRAGMA page_size=\(size)")
                try foreign.sql("VACUUM")
                try foreign.sql("PRAGMA journal_mode=WAL")
                try foreign.insert(3)
                replicator = source.replicator()
                let push = await replicator.push()
                #expect(push.outcome == .pushed, "\(push.outcome)")
                #expect(push.kinds == [.snapshot(.pageSizeChanged)])
                try await source.expectRestorable("\(size)")
                try foreign.insert(3)
                #expect(await replicator.push().kinds == [.wal])
                try await source.expectRestorable("\(size), afterwards")
                await replicator.close()
            }
        }
    }

    @Test(
        "what cannot be replicated says what it is",
        arguments: ["missing", "zero", "text", "directory", "rollback"]
    )
    func unusable(kind: String) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "x.db").path
            let reason: UnavailableReason
            switch kind {
            case "zero":
                try Data().write(to: URL(filePath: path))
                reason = .databaseEmpty
            case "text":
                try Data(repeating: 65, count: 5000).write(to: URL(filePath: path))
                reason = .notADatabase
            case "directory":
                try FileManager.default.createDirectory(
                    atPath: path,
                    withIntermediateDirectories: false
                )
                reason = .notADatabase
            case "rollback":
                let connection = try Connection(path: path, mode: .create)
                try connection.execute("CREATE TABLE t(v)")
                try connection.close()
                reason = .notWALMode
            default: reason = .databaseMissing
            }
            let replicator = Replicator(
                database: path,
                bucket: DirectoryBucket(directory.appending(path: "bucket").path)
            )
            for _ in 0..<2 {
                let push = await replicator.push()
                guard case .unavailable(reason, let detail) = push.outcome else {
                    Issue.record("\(push.outcome)")
                    continue
                }
                #expect(detail.contains(path))
                #expect(push.streak.count == 0)
            }
            // Nothing was left beside it.
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(names.allSatisfy { $0 == "x.db" }, "\(names)")
        }
    }
}
