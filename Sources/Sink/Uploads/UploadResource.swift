import DurableFiles
import Glibc
import Wire

/// What an upload resource says of itself.
public struct UploadStatus: Hashable, Sendable {
    public var offset: Int64
    public var length: Int64?
    /// The target has answered.
    public var isComplete: Bool

    public init(offset: Int64, length: Int64?, isComplete: Bool) {
        self.offset = offset
        self.length = length
        self.isComplete = isComplete
    }
}

/// One upload: its part file, its log, and who appends to it.
///
/// At most one request appends at a time. A newer one takes the upload over at once, also while
/// the server still believes in the older connection, whose next write is refused.
final class UploadResource: Sendable {
    /// Bytes after which a long part is made durable while it still arrives.
    static let syncInterval: Int64 = 16 << 20
    /// Bytes after which the disk begins to write what the next sync will wait for.
    private static let writebackInterval: Int64 = 4 << 20

    let id: UploadID
    let partPath: String
    private let state: Lock<State>

    struct State: Sendable {
        var log: UploadLog
        /// Bytes in the part file, durable or not.
        var written: Int64
        var part: PartFile?
        /// Grows with each request that takes the upload over.
        var generation: UInt64 = 0
        var isDelivering = false
        var isGone = false
        /// Reads what is durable.
        var follower: (any UploadFollower)?
        /// Milliseconds since 1970.
        var touchedAt: Int64
    }

    /// A class, because the state that holds it is copied.
    final class PartFile: Sendable {
        let file: FileDescriptor

        init(_ path: String) throws(FileError) {
            file = try FileDescriptor(path, O_RDWR | O_NOFOLLOW)
        }
    }

    init(id: UploadID, partPath: String, log: UploadLog, touchedAt: Int64) {
        self.id = id
        self.partPath = partPath
        let offset = log.offset
        state = Lock(State(log: log, written: offset, touchedAt: touchedAt))
    }

    /// The offset that an append will be taken at; ends whoever appends now.
    func status(now: Int64) throws(UploadRefusal) -> UploadStatus {
        try with { state throws(UploadRefusal) in
            try state.endAppend()
            state.touchedAt = now
            return UploadStatus(
                offset: state.log.offset,
                length: state.log.order.length,
                isComplete: state.log.answer != nil
            )
        }
    }

    /// Begins an append, or finds that the target has answered already.
    ///
    /// - Returns: The generation to append with, or the answer to a client that lost it.
    func begin(
        _ part: UploadPart,
        maxSize: Int64,
        now: Int64
    ) throws(UploadRefusal) -> Beginning {
        try with { state throws(UploadRefusal) in
            if state.isDelivering { throw .delivering }
            try state.endAppend()
            state.touchedAt = now
            guard part.offset == state.log.offset else {
                throw .problem(
                    .mismatchingOffset(expected: state.log.offset, provided: part.offset)
                )
            }
            if let answer = state.log.answer {
                guard part.isLast, !part.dialect.isLegacy else { throw .problem(.completed) }
                return .answered(answer)
            }
            try state.accept(length: part.length, maxSize: maxSize)
            let file = try Self.onDisk { () throws(FileError) in
                let file = try PartFile(self.partPath)
                // A write that failed halfway may have left bytes behind the offset.
                try file.file.truncate(to: state.log.offset)
                return file
            }
            state.part = file
            state.written = state.log.offset
            return .append(generation: state.generation)
        }
    }

    enum Beginning: Sendable {
        case append(generation: UInt64)
        case answered(UploadAnswer)
    }

    func write(
        _ buffer: UnsafeRawBufferPointer,
        generation: UInt64,
        maxSize: Int64
    ) throws(UploadRefusal) {
        try with { state throws(UploadRefusal) in
            guard state.generation == generation, let part = state.part else {
                throw .superseded
            }
            guard !buffer.isEmpty else { return }
            guard !state.log.isComplete else { throw .problem(.completed) }
            let (end, overflow) = state.written.addingReportingOverflow(Int64(buffer.count))
            guard !overflow, end <= maxSize else { throw .tooLarge(limit: maxSize) }
            if let length = state.log.order.length, end > length {
                // More than the client said there would be: nothing of it can be trusted.
                self.discard(&state)
                throw .problem(.inconsistentLength)
            }
            try Self.onDisk { () throws(FileError) in
                try part.file.write(buffer, at: state.written)
            }
            let interval = Self.writebackInterval
            if state.written / interval != end / interval { part.file.startWriteback() }
            state.written = end
            if state.written - state.log.offset >= Self.syncInterval { try state.sync() }
        }
    }

    /// Ends an append; what has arrived is durable then.
    ///
    /// - Returns: The offset.
    func end(
        generation: UInt64,
        isLast: Bool,
        now: Int64
    ) throws(UploadRefusal) -> Int64 {
        try with { state throws(UploadRefusal) in
            guard state.generation == generation, state.part != nil else { throw .superseded }
            try state.endAppend()
            state.touchedAt = now
            guard isLast else { return state.log.offset }
            if let length = state.log.order.length, state.log.offset != length {
                throw .problem(.inconsistentLength)
            }
            if !state.log.isComplete { try state.record(.complete) }
            state.follower?.complete()
            state.isDelivering = true
            return state.log.offset
        }
    }

    /// Gives an append up; what has arrived is kept.
    func abandon(generation: UInt64, now: Int64) {
        // What cannot be made durable is not promised: the offset stays where it was.
        _ = try? with { state throws(UploadRefusal) in
            guard state.generation == generation, state.part != nil else { return }
            state.touchedAt = now
            try state.endAppend()
        }
    }

    /// Takes down what the target answered; a final answer ends the upload.
    func settle(_ answer: UploadAnswer, now: Int64) throws(UploadRefusal) {
        try with { state throws(UploadRefusal) in
            state.isDelivering = false
            state.touchedAt = now
            guard answer.isFinal else { return }
            try state.record(.answer(answer))
            // Not told to stop: what it has made may be in use.
            state.follower = nil
            try Self.onDisk { () throws(FileError) in try DurableFiles.remove(self.partPath) }
        }
    }

    var order: UploadOrder { state.withLock { $0.log.order } }

    /// Who reads it while it arrives.
    var follower: (any UploadFollower)? { state.withLock { $0.follower } }

    /// Lets somebody read it while it arrives, instead of who did before.
    func attach(_ follower: any UploadFollower) throws(UploadRefusal) {
        try with { state throws(UploadRefusal) in
            state.follower?.cancel()
            state.follower = follower
            follower.advance(to: state.log.offset)
            if state.log.isComplete { follower.complete() }
        }
    }

    /// Ends who reads it.
    func detach() {
        state.withLock { state in
            state.follower?.cancel()
            state.follower = nil
        }
    }

    /// Removes the upload from the disk; whoever appends now is refused.
    func remove() throws(UploadRefusal) {
        try with { state throws(UploadRefusal) in
            if state.isDelivering { throw .delivering }
            self.discard(&state)
        }
    }

    /// Removes it if nobody has touched it since a moment and nobody is at work on it.
    func removeIfIdle(since moment: Int64) -> Bool {
        state.withLock { state in
            guard !state.isGone, state.part == nil, !state.isDelivering,
                state.touchedAt < moment
            else { return false }
            discard(&state)
            return true
        }
    }

    /// When it was last touched; `nil` while somebody is at work on it.
    var idleSince: Int64? {
        state.withLock { state in
            state.part == nil && !state.isDelivering && !state.isGone ? state.touchedAt : nil
        }
    }

    private func discard(_ state: inout State) {
        state.generation += 1
        state.part = nil
        state.isGone = true
        state.follower?.cancel()
        state.follower = nil
        // What stays behind is a corpse for the next start.
        _ = try? DurableFiles.remove(state.log.path)
        _ = try? DurableFiles.remove(partPath)
    }

    private func with<Result: Sendable>(
        _ body: (inout State) throws(UploadRefusal) -> Result
    ) throws(UploadRefusal) -> Result {
        try state.withLock { state throws(UploadRefusal) in
            guard !state.isGone else { throw .missing }
            return try body(&state)
        }
    }

    static func onDisk<Result>(
        _ body: () throws(FileError) -> Result
    ) throws(UploadRefusal) -> Result {
        do throws(FileError) { return try body() } catch { throw .file(error) }
    }
}

extension UploadResource.State {
    /// Makes what has arrived durable and lets nobody append any more.
    fileprivate mutating func endAppend() throws(UploadRefusal) {
        generation += 1
        guard part != nil else { return }
        defer {
            part = nil
            written = log.offset
        }
        try sync()
    }

    fileprivate mutating func sync() throws(UploadRefusal) {
        guard let part, written > log.offset else { return }
        try UploadResource.onDisk { () throws(FileError) in try part.file.sync() }
        try record(.offset(written))
        follower?.advance(to: written)
    }

    fileprivate mutating func record(_ event: UploadLog.Event) throws(UploadRefusal) {
        do throws(FileError) { try log.record(event) } catch { throw .file(error) }
    }

    /// Notes the length of the whole, once; a second statement must be the same.
    fileprivate mutating func accept(
        length: Int64?,
        maxSize: Int64
    ) throws(UploadRefusal) {
        guard let length else { return }
        guard length <= maxSize else { throw .tooLarge(limit: maxSize) }
        guard let known = log.order.length else {
            guard length >= log.offset else { throw .problem(.inconsistentLength) }
            return try record(.length(length))
        }
        guard known == length else { throw .problem(.inconsistentLength) }
    }
}
