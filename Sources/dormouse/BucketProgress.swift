import CommandLineKit
import Replica
import Synchronization

/// A progress bar over the bytes of a bucket's files; the total is known with the plan.
final class BucketProgress: Sendable {
    private let bar: ProgressBar<ContinuousClock>
    private let completed = Mutex<Int64>(0)

    init(_ label: String, _ console: Console) {
        bar = ProgressBar(label, total: nil, on: console.err)
    }

    func update(_ progress: RestoreProgress) {
        completed.withLock { $0 = progress.bytes }
        bar.update(completed: progress.bytes, of: progress.totalBytes)
    }

    func finish() {
        bar.finish(completed: completed.withLock { $0 })
    }

    func abandon() {
        bar.abandon()
    }
}
