import CLinux
import DurableFiles
import Glibc
import Handover
import Telemetry

/// Starts `dormouse transfer` beside an agent, as a process that survives it.
///
/// It gets a session of its own, no descriptor but standard error, and no word to the service
/// manager. While it lives a thread waits for it, so that it leaves no zombie; when the agent goes
/// first, the system's first process inherits it.
final class TransferChild: Sendable {
    private let spool: Spool
    private let config: String
    private let journal: Journal
    private let isAtWork = Lock(false)

    init(spool: String, config: String, journal: Journal) {
        self.spool = Spool(spool)
        self.config = config
        self.journal = journal
    }

    /// Starts it if something waits and it is not there.
    func startIfNeeded() {
        guard (try? spool.isReady) == true, begin() else { return }
        do {
            try OwnThread.detached { self.tend() }
        } catch {
            isAtWork.withLock { $0 = false }
            complain(error.code)
        }
    }

    private func begin() -> Bool {
        isAtWork.withLock { isAtWork in
            defer { isAtWork = true }
            return !isAtWork
        }
    }

    /// Runs it until nothing waits.
    ///
    /// One that failed is started again by a later push.
    private func tend() {
        while true {
            let isDone = run()
            isAtWork.withLock { $0 = false }
            // What was handed over while it was ending has found it at work.
            guard isDone, (try? spool.isReady) == true, begin() else { return }
        }
    }

    /// Runs it once; whether it succeeded.
    private func run() -> Bool {
        var processID: pid_t = 0
        let code = spawn(&processID)
        guard code == 0 else {
            complain(code)
            return false
        }
        var status: Int32 = 0
        while waitpid(processID, &status, 0) < 0 {
            guard errno == EINTR else { return false }
        }
        return status == 0
    }

    private func complain(_ code: Int32) {
        journal.write(
            .upload,
            .error,
            "the transfer service could not be started",
            [.detail: FieldValue(String(cString: strerror(code)))]
        )
    }

    private func spawn(_ processID: inout pid_t) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (descriptor, mode) in [(STDIN_FILENO, O_RDONLY), (STDOUT_FILENO, O_WRONLY)] {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", mode, 0)
        }
        clinux_close_from(&actions, STDERR_FILENO + 1)

        // Threads of the runtime block signals, the agent catches some, and a child inherits that.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | clinux_new_session()
        )

        let command = ["dormouse", "transfer", "--config", config]
        var words = command.map { strdup($0) } + [nil]
        var variables = Self.environment.map { strdup($0) } + [nil]
        defer { for pointer in words + variables { free(pointer) } }
        return posix_spawn(
            &processID,
            "/proc/self/exe",
            &actions,
            &attributes,
            &words,
            &variables
        )
    }

    /// Ours, but for what is meant for this process alone.
    private static var environment: [String] {
        let own = ["NOTIFY_SOCKET=", "WATCHDOG_PID=", "WATCHDOG_USEC=", "DORMOUSE_FAULT="]
        var variables: [String] = []
        var next = Glibc.environ
        while let variable = next.pointee {
            let text = String(cString: variable)
            if !own.contains(where: text.hasPrefix) { variables.append(text) }
            next += 1
        }
        return variables
    }
}
