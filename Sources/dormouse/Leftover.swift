import Glibc

/// A file that must not be left when a signal ends the process.
enum Leftover {
    // For the handler, which has no context; written before the handler is there and never freed.
    nonisolated(unsafe) private static var path: UnsafeMutablePointer<CChar>?

    /// Removes a file if SIGINT, SIGTERM or SIGHUP ends the process from now on.
    static func removedOnSignal(_ name: String) {
        precondition(path == nil, "one file a process")
        path = strdup(name)
        for number in [SIGINT, SIGTERM, SIGHUP] {
            var action = sigaction()
            sigaction(number, nil, &action)
            // Ignored by whoever started us, as `nohup` does.
            if unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1 { continue }
            action = sigaction()
            action.__sigaction_handler.sa_handler = { number in
                if let path = Leftover.path { unlink(path) }
                signal(number, SIG_DFL)
                raise(number)
            }
            sigaction(number, &action, nil)
        }
    }
}
