public import Wire

/// One request's append to an upload, from its headers to its end.
///
/// Calls may come from any thread, one at a time. An append that goes away without `end` keeps
/// what has arrived.
public final class UploadAppend: Sendable {
    private let resource: UploadResource
    private let generation: UInt64
    private let isLast: Bool
    private let maxSize: Int64
    private let clock: @Sendable () -> Int64

    init(
        _ resource: UploadResource,
        generation: UInt64,
        isLast: Bool,
        maxSize: Int64,
        clock: @escaping @Sendable () -> Int64
    ) {
        self.resource = resource
        self.generation = generation
        self.isLast = isLast
        self.maxSize = maxSize
        self.clock = clock
    }

    /// Adds bytes to the part file.
    public func write(_ buffer: UnsafeRawBufferPointer) throws(UploadRefusal) {
        try resource.write(buffer, generation: generation, maxSize: maxSize)
    }

    /// The request's body has ended as it should.
    ///
    /// - Returns: Where the upload stands, or the whole file and what to do with it.
    public func end() throws(UploadRefusal) -> UploadProgress {
        let offset = try resource.end(generation: generation, isLast: isLast, now: clock())
        guard isLast else { return .partial(offset: offset) }
        return .whole(
            UploadDelivery(
                id: resource.id,
                order: resource.order,
                path: resource.partPath,
                sizeInBytes: offset
            )
        )
    }

    /// The connection broke; what has arrived is durable when this returns.
    public func abandon() {
        resource.abandon(generation: generation, now: clock())
    }

    deinit {
        resource.abandon(generation: generation, now: clock())
    }
}

/// How an append ended.
public enum UploadProgress: Hashable, Sendable {
    /// `UploadDialect.appendedStatus`, with the offset.
    case partial(offset: Int64)
    /// The target's turn; its answer goes to `UploadStore.settle`.
    case whole(UploadDelivery)
}

/// A whole upload that waits for its target.
public struct UploadDelivery: Hashable, Sendable {
    public var id: UploadID
    public var order: UploadOrder
    /// The file; the store removes it when the target has answered.
    public var path: String
    public var sizeInBytes: Int64
}

/// How a request to append begins.
public enum UploadBeginning: Sendable {
    case append(UploadAppend)
    /// The target has answered already; the answer was lost on its way.
    case answered(UploadAnswer)
}
