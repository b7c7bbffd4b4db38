public import DurableFiles
public import Wire

/// The upload resources of one database, in `{data}/{name}/uploads`.
///
/// Each is a part file (`ID.part`) and a log (`ID.upload`), so that an upload goes on after the
/// client, the connection or the sink was killed. Calls block for as long as the disk takes; call
/// from a thread that may wait.
public final class UploadStore: Sendable {
    public struct Limits: Hashable, Sendable {
        /// Bytes of one upload.
        public var maxSize: Int64 = 16 << 30
        /// Uploads that are kept at a time.
        public var maxCount = 16
        /// An upload that nobody has touched for so long is a corpse, milliseconds.
        public var maxAge: Int64 = 86_400_000

        public init() {}

        /// As a client reads them, for an upload that was just touched.
        public var announced: UploadLimits {
            UploadLimits(maxSize: maxSize, maxAge: maxAge / 1000)
        }
    }

    static let logSuffix = ".upload"
    static let partSuffix = ".part"

    private let directory: String
    private let limits: Limits
    private let clock: @Sendable () -> Int64
    private let resources: Lock<[UploadID: UploadResource]>
    /// Corpses that were found at the start.
    public let sweptAtStart: Int

    /// Takes up what an earlier process left, and removes what is of no use.
    ///
    /// - Parameters:
    ///   - directory: Made by the first upload.
    ///   - limits: What uploads may take.
    ///   - clock: Milliseconds since 1970.
    /// - Throws: `FileError` when the directory cannot be read.
    public init(
        _ directory: String,
        limits: Limits = Limits(),
        clock: @escaping @Sendable () -> Int64
    ) throws(FileError) {
        self.directory = directory
        self.limits = limits
        self.clock = clock
        var found: [UploadID: UploadResource] = [:]
        let names = try FileStatus.of(directory) == nil ? [] : DurableFiles.list(directory)
        for name in names where name.hasSuffix(Self.logSuffix) {
            guard let id = UploadID(name.dropLast(Self.logSuffix.count)) else { continue }
            let path = Path.join(directory, name)
            guard let log = try UploadLog(reading: path), let status = try FileStatus.of(path),
                try Self.isUsable(log, part: Path.join(directory, "\(id)\(Self.partSuffix)"))
            else { continue }
            found[id] = UploadResource(
                id: id,
                partPath: Path.join(directory, "\(id)\(Self.partSuffix)"),
                log: log,
                touchedAt: status.modifiedAt
            )
        }
        var swept = 0
        for name in names where !Self.belongs(name, to: found) {
            try DurableFiles.remove(Path.join(directory, name))
            swept += 1
        }
        sweptAtStart = swept
        resources = Lock(found)
    }

    /// The limits as a client reads them, for an upload that was just touched.
    public var announced: UploadLimits { limits.announced }

    /// Makes an upload resource; it survives a restart when this returns.
    ///
    /// When there are too many, the one that was left alone the longest gives way.
    public func create(_ order: UploadOrder) throws(UploadRefusal) -> UploadID {
        if let length = order.length, length > limits.maxSize {
            throw .tooLarge(limit: limits.maxSize)
        }
        try makeRoom()
        var generator = SystemRandomNumberGenerator()
        let id = UploadID(random: &generator)
        let partPath = Path.join(directory, "\(id)\(Self.partSuffix)")
        let log = try UploadResource.onDisk { () throws(FileError) in
            try DurableFiles.makeDirectories(directory)
            _ = try FileDescriptor(creating: partPath)
            // Its entry becomes durable with the log's, which syncs the directory.
            let path = Path.join(directory, "\(id)\(Self.logSuffix)")
            return try UploadLog(creating: path, order: order)
        }
        let resource = UploadResource(id: id, partPath: partPath, log: log, touchedAt: clock())
        resources.withLock { $0[id] = resource }
        return id
    }

    /// Where an upload stands; a request that appends to it now is ended, and its next write
    /// refused.
    public func status(_ id: UploadID) throws(UploadRefusal) -> UploadStatus {
        try resource(id).status(now: clock())
    }

    /// Begins an append; one that is under way is ended.
    public func append(_ part: UploadPart, to id: UploadID) throws(UploadRefusal) -> UploadBeginning
    {
        let resource = try resource(id)
        switch try resource.begin(part, maxSize: limits.maxSize, now: clock()) {
        case .answered(let answer): return .answered(answer)
        case .append(let generation):
            let append = UploadAppend(
                resource,
                generation: generation,
                isLast: part.isLast,
                maxSize: limits.maxSize,
                clock: clock
            )
            return .append(append)
        }
    }

    /// What an upload is for.
    public func order(of id: UploadID) throws(UploadRefusal) -> UploadOrder {
        try resource(id).order
    }

    /// Lets somebody read an upload while it arrives, and tells at once what is there.
    ///
    /// - Parameters:
    ///   - id: The upload.
    ///   - make: Is given the path of the part file, which stays the same file for as long as the
    ///     upload lasts; `nil` for nobody.
    /// - Throws: `UploadRefusal` for an upload that is gone.
    public func follow(
        _ id: UploadID,
        _ make: (_ path: String) -> (any UploadFollower)?
    ) throws(UploadRefusal) {
        let resource = try resource(id)
        guard let follower = make(resource.partPath) else { return }
        do throws(UploadRefusal) {
            try resource.attach(follower)
        } catch {
            follower.cancel()
            throw error
        }
    }

    /// Who reads an upload while it arrives.
    public func follower(of id: UploadID) throws(UploadRefusal) -> (any UploadFollower)? {
        try resource(id).follower
    }

    /// Ends who reads uploads while they arrive.
    public func endFollowers() {
        for resource in resources.withLock({ Array($0.values) }) { resource.detach() }
    }

    /// Takes down what the target answered to a whole upload.
    ///
    /// A final answer is kept for a client that has lost it; any other leaves the upload whole,
    /// to be delivered again by an empty last part.
    public func settle(_ id: UploadID, _ answer: UploadAnswer) throws(UploadRefusal) {
        try resource(id).settle(answer, now: clock())
    }

    /// Removes an upload; a request that appends to it now is refused.
    public func cancel(_ id: UploadID) throws(UploadRefusal) {
        try resource(id).remove()
        resources.withLock { $0[id] = nil }
    }

    /// Removes the uploads that nobody has touched for `Limits.maxAge`.
    ///
    /// - Parameter now: Milliseconds since 1970.
    /// - Returns: How many.
    public func sweep(now: Int64) -> Int {
        let idle = resources.withLock { resources in
            resources.values.filter { $0.removeIfIdle(since: now - limits.maxAge) }.map(\.id)
        }
        resources.withLock { resources in
            for id in idle { resources[id] = nil }
        }
        return idle.count
    }

    /// Uploads that are kept.
    public var count: Int { resources.withLock { $0.count } }

    private func resource(_ id: UploadID) throws(UploadRefusal) -> UploadResource {
        guard let resource = resources.withLock({ $0[id] }) else { throw .missing }
        return resource
    }

    private func makeRoom() throws(UploadRefusal) {
        let victim = resources.withLock { resources -> UploadResource?? in
            guard resources.count >= limits.maxCount else { return .none }
            let idle = resources.values.compactMap { resource in
                resource.idleSince.map { (resource, $0) }
            }
            guard let oldest = idle.min(by: { $0.1 < $1.1 })?.0 else { return .some(nil) }
            resources[oldest.id] = nil
            return oldest
        }
        guard let victim else { return }
        guard let victim else { throw .tooMany(limit: limits.maxCount) }
        // It is nobody's any more; what is left of it is a corpse at worst.
        try? victim.remove()
    }

    /// The part file holds what the log promises.
    private static func isUsable(_ log: UploadLog, part: String) throws(FileError) -> Bool {
        if log.answer != nil { return true }
        guard let status = try FileStatus.ofEntry(part), status.isRegularFile else { return false }
        return status.sizeInBytes >= log.offset
    }

    private static func belongs(_ name: String, to found: [UploadID: UploadResource]) -> Bool {
        guard let suffix = [logSuffix, partSuffix].first(where: { name.hasSuffix($0) }),
            let id = UploadID(name.dropLast(suffix.count))
        else { return false }
        return found[id] != nil
    }
}
