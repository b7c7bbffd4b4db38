import DurableFiles
import LTXCodec
import Replica

/// Reads a file while it arrives: when the last byte is there, what the file is is known.
///
/// On the way the pages of a whole state become the file of a live copy that is not there yet, so
/// that nobody has to unpack them a second time.
package final class FileIntake: UploadFollower {
    /// Of smaller files it is known soon enough.
    static let smallest: Int64 = 1 << 20

    private struct State {
        var available: Int64 = 0
        var isComplete = false
        var isCancelled = false
        var movedAt = ContinuousClock.now
        /// What the file is; `.some(nil)` when that could not be found out here.
        var outcome: FileVerifier.Outcome??
        /// What was made of it; `.some(nil)` when nothing was.
        var image: MirrorImage??
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let name: LTXFileName
    private let level: Int
    private let path: String
    private let staging: Staging?
    private let state = Monitor(State())

    /// Where the file of a live copy is made.
    struct Staging: Sendable {
        var path: String
        /// Whether there is room for so many bytes.
        var hasRoom: @Sendable (Int64) -> Bool
    }

    /// - Parameters:
    ///   - offer: What the file is to be.
    ///   - path: Where it arrives.
    ///   - staging: Where its pages go, too.
    init(_ offer: OfferedFile, at path: String, staging: Staging?) {
        name = offer.name
        level = offer.level
        self.path = path
        self.staging = staging
    }

    /// Whether `image` may have something to give.
    var makesImage: Bool { staging != nil }

    // MARK: Told by the upload

    package func advance(to offset: Int64) {
        state.change { state in
            state.available = max(state.available, offset)
            state.movedAt = .now
        }
    }

    package func complete() {
        state.change { $0.isComplete = true }
    }

    package func cancel() {
        state.change { $0.isCancelled = true }
    }

    /// Since when nothing has come.
    var movedAt: ContinuousClock.Instant { state.change { $0.movedAt } }

    // MARK: Asked by who stores it

    /// What the file is; `nil` where it has to be read once more.
    func outcome() async -> FileVerifier.Outcome? {
        while true {
            if let outcome = state.change({ $0.outcome }) { return outcome }
            await change { $0.outcome != nil }
        }
    }

    /// What was made of it.
    func image() async -> MirrorImage? {
        while true {
            if let image = state.change({ $0.image }) { return image }
            await change { $0.image != nil }
        }
    }

    private func change(until isThere: (State) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isReady = state.change { state in
                if isThere(state) { return true }
                state.waiting.append(continuation)
                return false
            }
            if isReady { continuation.resume() }
        }
    }

    private func settle(_ body: (inout State) -> Void) {
        let waiting = state.change { state in
            body(&state)
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    // MARK: On a thread of its own

    /// Reads the file to its end, waiting for it where it is not there yet.
    func run() {
        let maker = ImageMaker(staging)
        let outcome = try? FileVerifier.Outcome(name) { () throws in
            let file = OpenPart(try FileDescriptor(reading: path))
            return try VerifiedFile { offset, buffer in
                try self.read(file, at: offset, into: buffer)
            } began: { header in
                maker.begin(header)
            } page: { pgno, page in
                maker.add(pgno, page)
            }
        }
        settle { $0.outcome = .some(outcome) }
        var image: MirrorImage?
        if case .good(let file)? = outcome {
            image = maker.finish(level: level, name: name, fileChecksum: file.fileChecksum)
        }
        settle { $0.image = .some(image) }
    }

    private final class OpenPart {
        let descriptor: FileDescriptor

        init(_ descriptor: consuming FileDescriptor) {
            self.descriptor = descriptor
        }
    }

    private enum Step {
        case read(upTo: Int64)
        case stop
    }

    private func read(
        _ file: OpenPart,
        at offset: Int64,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws -> Int {
        let step = state.block { state -> Step? in
            if state.isCancelled { return .stop }
            guard state.available > offset || state.isComplete else { return nil }
            return .read(upTo: state.available)
        }
        guard case .read(let available) = step else { throw CancellationError() }
        let count = Int(min(Int64(buffer.count), available - offset))
        guard count > 0 else { return 0 }
        return try file.descriptor.read(
            at: offset,
            into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
        )
    }
}

/// Makes the file of a live copy, for as long as nothing is in the way.
private final class ImageMaker {
    private let staging: FileIntake.Staging?
    private var writer: MirrorImageWriter?

    init(_ staging: FileIntake.Staging?) {
        self.staging = staging
    }

    func begin(_ header: LTXHeader) {
        let size = Int64(header.commit) * Int64(header.pageSize)
        guard let staging, header.isSnapshot, header.commit > 0, staging.hasRoom(size) else {
            return
        }
        writer = try? MirrorImageWriter(staging.path, header: header)
    }

    func add(_ pgno: Pgno, _ page: UnsafeRawBufferPointer) {
        guard let writer else { return }
        do throws(FileError) { try writer.add(pgno, page) } catch { self.writer = nil }
    }

    func finish(level: Int, name: LTXFileName, fileChecksum: Checksum) -> MirrorImage? {
        try? writer?.finish(level: level, name: name, fileChecksum: fileChecksum)
    }
}
