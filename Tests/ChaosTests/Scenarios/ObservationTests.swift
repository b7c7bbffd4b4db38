import Chaos
import Foundation
import SQLiteBridge
import TestSupport
import Testing

@Suite("What the bench reads of others")
struct ObservationTests {
    static let table = """
        1: POSIX  ADVISORY  READ  4711 00:2f:1001 1073741826 1073742335
        2: POSIX  ADVISORY  WRITE 4711 00:2f:1002 123 123
        2: -> POSIX  ADVISORY  WRITE 4711 00:2f:1001 123 123
        3: FLOCK  ADVISORY  WRITE 4711 fe:01:1003 0 EOF
        4: POSIX  ADVISORY  WRITE 815 00:2f:1001 123 123
        5: OFDLCK ADVISORY  READ  -1 00:2f:1001 0 EOF
        6: nonsense
        """

    @Test("locks are the process's, on the files of the directory, and not waited for")
    func locks() {
        let locks = ObservedLocks.parse(
            Self.table,
            processID: 4711,
            files: [1001: "health.db", 1002: "health.db-shm"]
        )
        #expect(
            locks.map(\.description) == [
                "POSIX READ lock on health.db, bytes 1073741826 1073742335",
                "POSIX WRITE lock on health.db-shm, bytes 123 123",
            ]
        )
    }

    @Test("a lock of SQLite in a real table is found")
    func real() throws {
        try withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            let connection = try Connection(path: path, mode: .create)
            try connection.execute("PRAGMA journal_mode=WAL; CREATE TABLE t(x)")
            let own = ProcessInfo.processInfo.processIdentifier
            #expect(
                try ObservedLocks.of(own, in: directory.path).allSatisfy { $0.file != "a.db-wal" }
            )
            try connection.beginRead()
            #expect(
                try ObservedLocks.of(own, in: directory.path).contains { $0.file == "a.db-shm" }
            )
            try connection.close()
        }
    }

    @Test("a line of the journal is read as a record")
    func journal() {
        let line = #"""
            {"MESSAGE":"push \"ended\"","PRIORITY":"6","_PID":"7","N":[1,2],"X":null,"DORMOUSE_KIND":"push","DORMOUSE_DETAIL":"a\u00e9\n\ud83d\ude00","DORMOUSE_WAL_BYTES":"12"}
            """#
        #expect(
            JournalLine.fields(of: line) == [
                "kind": "push", "msg": "push \"ended\"", "level": "info", "detail": "aé\n😀",
                "wal_bytes": "12",
            ]
        )
    }

    @Test(
        "what is no record is none",
        arguments: ["", "{", "{}", "x", #"{"MESSAGE":"hello"}"#, #"{"DORMOUSE_KIND":"pu"#, "[1]"]
    )
    func noRecord(line: String) {
        #expect(JournalLine.fields(of: line) == nil)
    }
}
