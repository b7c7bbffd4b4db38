import Foundation
import TestSupport

/// A separate process with connections to a database, as an application has them: SQLite's own
/// settings, its own locks.
///
/// One line of JSON is a request, one line the answer. It ends when its input does.
final class ForeignProcess {
    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var buffer = Data()

    private static let program = """
        import json, os, sqlite3, sys
        path, connections = sys.argv[1], {}
        def rows(connection, sql):
            return connection.execute(sql).fetchall()
        for line in sys.stdin:
            name, verb, argument = json.loads(line)
            try:
                answer = None
                if verb == "open":
                    connections[name] = sqlite3.connect(path, isolation_level=None, timeout=argument)
                elif verb == "close":
                    connections.pop(name).close()
                elif verb == "sql":
                    answer = [[str(value) for value in row] for row in rows(connections[name], argument)]
                elif verb == "load":
                    # Commits one row after another, as fast as it can, until a file is there.
                    count = 0
                    print(json.dumps(["ok", "started"]), flush=True)
                    while not os.path.exists(argument):
                        connections[name].execute("INSERT INTO t(v) VALUES (randomblob(200))")
                        count += 1
                        if count % 50 == 0:
                            connections[name].execute("DELETE FROM t WHERE id % 3 = 0 AND id > 100")
                    answer = count
                print(json.dumps(["ok", answer]), flush=True)
            except Exception as error:
                print(json.dumps(["error", f"{verb} {argument}: {error}"]), flush=True)
        """

    init(_ path: String) throws {
        process.executableURL = Peers.python
        process.arguments = ["-u", "-c", Self.program, path]
        process.standardInput = input
        process.standardOutput = output
        try process.runWithSignalsUnblocked()
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// Opens another connection.
    func open(_ name: String = "", timeout: Double = 5) throws {
        try request([name, "open", timeout])
    }

    /// Closes a connection, as SQLite does it: the last one checkpoints and deletes the WAL.
    func close(_ name: String = "") throws {
        try request([name, "close", 0])
    }

    /// Runs one statement; its rows as texts.
    @discardableResult
    func sql(_ statement: String, on name: String = "") throws -> [[String]] {
        try request([name, "sql", statement]) as? [[String]] ?? []
    }

    func insert(_ count: Int = 1, on name: String = "") throws {
        for _ in 0..<count { try sql("INSERT INTO t(v) VALUES (randomblob(300))", on: name) }
    }

    /// Gives the three numbers of a checkpoint: busy, frames, frames copied back.
    @discardableResult
    func checkpoint(_ mode: String, on name: String = "") throws -> [Int] {
        try sql("PRAGMA wal_checkpoint(\(mode))", on: name)[0].compactMap { Int($0) }
    }

    /// Writes at full speed until `stopFile` exists; `finishLoad` gives how many commits.
    func startLoad(until stopFile: String, on name: String = "") throws {
        try request([name, "load", stopFile])
    }

    func finishLoad() throws -> Int {
        try answer() as? Int ?? 0
    }

    /// Ends the process without any goodbye.
    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    @discardableResult
    private func request(_ request: [Any]) throws -> Any? {
        var line = try JSONSerialization.data(withJSONObject: request)
        line.append(10)
        try input.fileHandleForWriting.write(contentsOf: line)
        return try answer()
    }

    private func answer() throws -> Any? {
        while true {
            if let end = buffer.firstIndex(of: 10) {
                let line = buffer[..<end]
                buffer = Data(buffer[(end + 1)...])
                let answer = try JSONSerialization.jsonObject(with: line) as? [Any]
                guard answer?.first as? String == "ok" else {
                    throw Refusal(description: "\(answer?.last ?? "")")
                }
                return answer?.last
            }
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { throw Refusal(description: "the process has ended") }
            buffer.append(more)
        }
    }
}
