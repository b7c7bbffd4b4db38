public import DurableFiles
public import Glibc
import SQLiteBridge

/// This very program as a child process, or another one, read line by line.
///
/// Its own thread, because reading a pipe blocks.
public actor ChildProcess {
    private let executor = SerialThreadExecutor()
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    public nonisolated let processID: pid_t
    /// Whether it was waited for: its number may be another's then.
    private nonisolated let isReaped = Lock(false)
    private let records: Int32
    private var buffered: [UInt8] = []

    /// Starts this very program with other arguments, or another one.
    ///
    /// Of this program standard error is read, where its records go; of another one standard
    /// output.
    ///
    /// - Parameters:
    ///   - program: Another program, looked for in `PATH`.
    ///   - arguments: Behind the program's name.
    ///   - environment: Variables on top of this process's own.
    /// - Throws: `FileError`.
    public init(
        program: String? = nil,
        _ arguments: [String],
        environment: [String: String] = [:]
    ) throws(FileError) {
        var ends: [Int32] = [-1, -1]
        // Sockets and not a pipe, because they are made with close-on-exec set: an end that leaks into
        // another child would keep the records from ending.
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw FileError(.open, "socketpair", code: errno)
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDWR, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_RDWR, 0)
        let output = program == nil ? STDERR_FILENO : STDOUT_FILENO
        posix_spawn_file_actions_adddup2(&actions, ends[1], output)
        // Threads of the runtime block signals, and a child inherits that.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

        // What a service manager told us is not meant for a child.
        let ours = ["DORMOUSE_FAULT", "JOURNAL_STREAM", "NOTIFY_SOCKET", "WATCHDOG_USEC"]
        let replaced = Set(ours).union(environment.keys)
        let inherited = Self.environment.filter { variable in
            !replaced.contains(String(variable.prefix { $0 != "=" }))
        }
        let all = inherited + environment.map { "\($0)=\($1)" }
        var words = ([program ?? "dormouse"] + arguments).map { strdup($0) } + [nil]
        var variables = all.map { strdup($0) } + [nil]
        defer { for pointer in words + variables { free(pointer) } }
        var processID: pid_t = 0
        let file = program ?? "/proc/self/exe"
        let code = posix_spawnp(
            &processID,
            file,
            &actions,
            &attributes,
            &words,
            &variables
        )
        close(ends[1])
        guard code == 0 else {
            close(ends[0])
            throw FileError(.open, file, code: code)
        }
        self.processID = processID
        records = ends[0]
        Orphans.add(processID)
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

    /// Sends a signal, unless the process has ended already.
    public nonisolated func send(_ signal: Int32) {
        isReaped.withLock { isReaped in
            if !isReaped { _ = kill(processID, signal) }
        }
    }

    /// The next record, as its fields; `nil` when the process is gone.
    public func nextRecord() -> [String: String]? {
        nextLine().map { line in
            let fields = Logfmt.fields(of: line)
            // Its very last words are no record.
            return fields["kind"] == nil ? ["level": "error", "msg": line] : fields
        }
    }

    /// The next line; `nil` when the process is gone.
    public func nextLine() -> String? {
        while true {
            if let end = buffered.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: buffered[..<end], as: UTF8.self)
                buffered.removeSubrange(...end)
                return line
            }
            var chunk = [UInt8](repeating: 0, count: 4096)
            let count = read(records, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            buffered += chunk[..<count]
        }
    }

    /// Waits for the end: the signal that ended it, or its exit status.
    public func wait() -> (signal: Int32?, status: Int32) {
        // A signal may be on its way until it is waited for.
        var information = siginfo_t()
        while waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT) < 0,
            errno == EINTR
        {}
        var status: Int32 = 0
        isReaped.withLock { isReaped in
            waitpid(processID, &status, 0)
            isReaped = true
        }
        Orphans.remove(processID)
        let signal = status & 0x7F
        return (signal == 0 ? nil : signal, status >> 8 & 0xFF)
    }
}

/// Reads the lines that the journal writes off systemd.
public enum Logfmt {
    /// Keys and values of one line; values may be quoted.
    public static func fields(of line: String) -> [String: String] {
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
