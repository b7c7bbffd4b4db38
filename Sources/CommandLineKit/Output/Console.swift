import Glibc

/// Where a command prints.
public struct Console: Sendable {
    /// What was asked for: tables, JSON, bytes.
    public let out: Output
    /// Prose, progress and complaints.
    public let err: Output

    public init(out: Output, err: Output) {
        self.out = out
        self.err = err
    }

    /// Standard output and standard error, with SIGPIPE and SIGXFSZ ignored, so that writing fails
    /// instead.
    public static func standard() -> Console {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        return Console(
            out: Output(descriptor: STDOUT_FILENO),
            err: Output(descriptor: STDERR_FILENO)
        )
    }

    /// Fills the places of standard input, output and error where the process was started without.
    ///
    /// Else a file that is opened next gets such a number, and what is printed goes into it.
    public static func fillStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // The lowest number that is free is this one.
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// One line on standard error; control characters in it are shown, not obeyed.
    public func complain(_ line: String) {
        // There is nowhere left to say that this did not work.
        try? err.print(
            line.split(separator: "\n").map { Printable.text(String($0)) }.joined(separator: "\n")
        )
    }

    /// Ends the process as SIGPIPE does, which is how tools end whose reader has gone.
    ///
    /// Does nothing where output goes to memory.
    func endQuietly() {
        guard out.descriptor != nil else { return }
        signal(SIGPIPE, SIG_DFL)
        // Threads that run tasks have most signals blocked.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(SIGPIPE)
    }
}
