import CommandLineKit
import Replica

/// A progress bar over the bytes of a bucket's files; the total is known with the plan.
final class BucketProgress: Sendable {
    private let bar: ProgressBar<ContinuousClock>

    init(_ label: String, _ console: Console) {
        bar = ProgressBar(label, total: nil, on: console.err)
    }

    var update: @Sendable (RestoreProgress) -> Void {
        { [bar] in bar.update(completed: $0.bytes, total: $0.totalBytes) }
    }

    func finish() {
        bar.finish()
    }

    func abandon() {
        bar.abandon()
    }
}
