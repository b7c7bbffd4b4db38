import Bucket
import DurableFiles

/// What others see of a mirror and tell it, without waiting for its thread.
final class MirrorBoard: Sendable {
    private struct State {
        var status = MirrorStatus()
        var files: [BucketFile] = []
        var mustList = false
    }

    private let state = Lock(State())
    /// Yields after each announcement, once for any number of them.
    let wakes: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation

    /// More announcements than these make a listing cheaper than keeping them.
    private static let announcements = 1024

    init() {
        (wakes, bell) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        bell.yield()
    }

    deinit {
        bell.finish()
    }

    var status: MirrorStatus { state.withLock { $0.status } }

    func update(_ body: (inout MirrorStatus) -> Void) {
        state.withLock { body(&$0.status) }
    }

    /// Notes a file that came; without one the bucket has to be listed.
    func announce(_ file: BucketFile?) {
        state.withLock { state in
            if let file {
                state.status.bucketTXID = max(state.status.bucketTXID, file.maxTXID)
                state.status.isBucketEmpty = false
            }
            if let file, file.level == 0, state.files.count < Self.announcements {
                state.files.append(file)
            } else {
                state.files = []
                state.mustList = true
            }
        }
        bell.yield()
    }

    /// Hands over what was announced.
    func take() -> (files: [BucketFile], mustList: Bool) {
        state.withLock { state in
            defer {
                state.files = []
                state.mustList = false
            }
            return (state.files, state.mustList)
        }
    }
}
