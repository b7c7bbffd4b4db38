import DurableFiles
import Glibc
import SQLiteBridge

/// This very program as a child process, whose records are read line by line.
///
/// Its own thread, because reading a pipe blocks.
actor ChildProcess {
    private let executor = SerialThreadExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    nonisolated let processID: pid_t
    private let records: Int32
    private var buffered: [UInt8] = []
    private var isReaped = false

    /// Starts this very program with other arguments.
    ///
    /// - Parameters:
    ///   - arguments: Behind the program's name.
    ///   - fault: What `DORMOUSE_FAULT` says to the child.
    /// - Throws: `FileError`.
    init(_ arguments: [String], fault: String? = nil) throws(FileError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw FileError(.open, "pipe", code: errno) }
        _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO)
        posix_spawn_file_actions_addclose(&actions, ends[1])
        // Threads of the runtime block signals, and a child inherits that.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

        var environment = Self.environment.filter {
            !$0.hasPrefix("DORMOUSE_FAULT=") && !$0.hasPrefix("JOURNAL_STREAM=")
        }
        if let fault { environment.append("DORMOUSE_FAULT=\(fault)") }
        var words = (["dormouse"] + arguments).map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { for pointer in words + variables { free(pointer) } }
        var processID: pid_t = 0
        let code = posix_spawn(
            &processID,
            "/proc/self/exe",
            &actions,
            &attributes,
            &words,
            &variables
        )
        close(ends[1])
        guard code == 0 else {
            close(ends[0])
            throw FileError(.open, "/proc/self/exe", code: code)
        }
        self.processID = processID
        records = ends[0]
    }

    deinit {
        close(records)
    }

    private static var environment: [String] {
        var variables: [String] = []
        var next = environ
        while let variable = next.pointee {
            variables.append(String(cString: variable))
            next += 1
        }
        return variables
    }

    nonisolated func send(_ signal: Int32) {
        kill(processID, signal)
    }

    /// The next record, as its fields; `nil` when the process is gone.
    func nextRecord() -> [String: String]? {
        while true {
            if let end = buffered.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: buffered[..<end], as: UTF8.self)
                buffered.removeSubrange(...end)
                return Logfmt.fields(of: line)
            }
            var chunk = [UInt8](repeating: 0, count: 4096)
            let count = read(records, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            buffered += chunk[..<count]
        }
    }

    /// Waits for the end: the signal that ended it, or its exit status.
    func wait() -> (signal: Int32?, status: Int32) {
        var status: Int32 = 0
        while waitpid(processID, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        return (signal == 0 ? nil : signal, status >> 8 & 0xFF)
    }
}

/// Reads the lines that the journal writes off systemd.
enum Logfmt {
    /// Keys and values of one line; values may be quoted.
    static func fields(of line: String) -> [String: String] {
        var fields: [String: String] = [:]
        var rest = line[...]
        while let equals = rest.firstIndex(of: "=") {
            let key = String(rest[..<equals].drop { $0 == " " })
            rest = rest[rest.index(after: equals)...]
            var value = ""
            if rest.first == "\"" {
                rest.removeFirst()
                while let character = rest.popFirst(), character != "\"" {
                    value.append(character == "\\" ? rest.popFirst() ?? "\\" : character)
                }
            } else {
                let end = rest.firstIndex(of: " ") ?? rest.endIndex
                value = String(rest[..<end])
                rest = rest[end...]
            }
            fields[key] = value
        }
        return fields
    }
}
