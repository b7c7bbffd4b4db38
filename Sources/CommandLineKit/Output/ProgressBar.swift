import Synchronization

/// Shows the progress of a long job on standard error.
///
/// A terminal sees one line that is redrawn; anything else gets a plain line now and then. Not
/// being able to show it is no reason to stop the job, so nothing is thrown. It may be called
/// from any thread.
public final class ProgressBar<C: Clock>: Sendable where C.Duration == Duration {
    private let output: Output
    private let clock: C
    private let start: C.Instant
    private let renderer: Mutex<ProgressRenderer>

    /// - Parameters:
    ///   - label: What is going on, such as `restoring`.
    ///   - total: Bytes in all; `nil` when nobody knows.
    ///   - output: Usually the console's `err`.
    ///   - clock: What time is measured by; it starts now.
    public init(_ label: String, total: Int64?, on output: Output, clock: C) {
        self.output = output
        self.clock = clock
        start = clock.now
        renderer = Mutex(
            ProgressRenderer(
                label: label,
                total: total,
                style: output.isTerminal ? .terminal : .lines
            )
        )
    }

    /// Says how many bytes are done; cheap enough to be called for every page.
    public func update(completed: Int64) {
        let now = start.duration(to: clock.now)
        let text = renderer.withLock { renderer in
            renderer.update(completed: completed, at: now, columns: output.columns)
        }
        if let text { show(text) }
    }

    /// The same for who learns the total only with the first bytes, or finds it changed.
    public func update(completed: Int64, of total: Int64) {
        renderer.withLock { $0.setTotal(total) }
        update(completed: completed)
    }

    /// Shows the last line.
    public func finish(completed: Int64) {
        let now = start.duration(to: clock.now)
        let text = renderer.withLock { renderer in
            renderer.finish(completed: completed, at: now, columns: output.columns)
        }
        show(text)
    }

    /// The job failed: what is said next begins on a line of its own.
    public func abandon() {
        show(renderer.withLock { $0.abandon() })
    }

    private func show(_ text: String) {
        try? output.write(text)
        try? output.flush()
    }
}

extension ProgressBar<ContinuousClock> {
    public convenience init(_ label: String, total: Int64?, on output: Output) {
        self.init(label, total: total, on: output, clock: ContinuousClock())
    }
}
