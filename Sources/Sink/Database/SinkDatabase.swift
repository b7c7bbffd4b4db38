package import Bucket
import DurableFiles
package import LTXCodec
import Replica
package import SQLiteBridge
package import Wire

/// One database of a sink: its bucket, who may write it, and who follows it.
///
/// An actor on a thread that a few databases share. Its disk work never suspends it, so a verdict
/// of the fence and the write that follows are one step. The mirror is another actor on another
/// thread: it is told what came, and never waited for.
package actor SinkDatabase {
    package struct Options: Sendable {
        /// How long a lease lasts without a write.
        package var leaseDuration = Duration.seconds(86_400)
        /// A follower that has nothing to get hears this often that it is not forgotten.
        package var pingInterval = Duration.seconds(15)
        package var uploadLimits = UploadStore.Limits()
        package var diskGuard = DiskGuard(reserve: .bytes(0))
        /// Told once, when its live copy begins to follow.
        package var opened: @Sendable () -> Void = {}
        /// The wall clock, milliseconds since 1970.
        package var now: @Sendable () -> Int64

        package init(now: @escaping @Sendable () -> Int64) {
            self.now = now
        }
    }

    package nonisolated let name: DatabaseName
    /// `{data}/{name}`.
    package nonisolated let directory: String
    package nonisolated let bucket: DirectoryBucket
    package nonisolated let options: Options
    private nonisolated let executor: SerialThreadExecutor
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    package nonisolated let live: any LiveCopy

    var index: BucketIndex
    var stateFile: DatabaseStateFile
    /// Facts of the newest file, so that the next one needs no look into it.
    var headFacts: HeadFacts?
    private var uploadStore: UploadStore?
    var followers: [ObjectIdentifier: Follower] = [:]
    var pinger: Task<Void, Never>?
    var isShutDown = false
    private var following: Task<Void, Never>?
    /// A whole state on its way to a live copy that is not there yet, which starts then.
    private var adoption: Task<Void, Never>?
    private var isWriting = false
    private var writers: [CheckedContinuation<Void, Never>] = []

    /// Names a database; nothing is looked at or made yet.
    package init(
        _ name: DatabaseName,
        directory: String,
        live: any LiveCopy,
        executor: SerialThreadExecutor,
        options: Options
    ) {
        self.name = name
        self.directory = directory
        self.live = live
        self.executor = executor
        self.options = options
        bucket = DirectoryBucket(Path.join(directory, "bucket"))
        index = BucketIndex(bucket)
        stateFile = DatabaseStateFile(Path.join(directory, "sink.state"))
    }

    // MARK: What it holds

    /// Whether it was ever written to.
    package var exists: Bool {
        (try? FileStatus.of(directory)?.isDirectory) == true
    }

    func refreshIndex() async throws {
        if let changed = try await index.refreshed() { index = changed }
    }

    /// Looks at the disk: what changed by other hands is seen.
    func refresh() async throws {
        try await refreshIndex()
        try stateFile.refresh(now: options.now())
    }

    /// What every answer about it says.
    package struct Condition: Hashable, Sendable {
        package var head: TXID
        package var lineage: String?
        /// The file checksum of the level-0 file that ends at the head.
        package var headChecksum: Checksum?
        package var wantsRebase: Bool
    }

    package func condition() async throws -> Condition {
        try await refresh()
        return Condition(
            head: index.head,
            lineage: index.isEmpty ? nil : stateFile.state.lineage,
            headChecksum: try await headChecksum(),
            wantsRebase: live.status.divergence != nil
        )
    }

    private func headChecksum() async throws -> Checksum? {
        let head = index.head
        guard let file = index.file(level: 0, endingAt: head) else { return nil }
        if let headFacts, headFacts.txid == head { return headFacts.checksum }
        let facts = try HeadFacts(of: try await bucket.open(file))
        headFacts = facts
        return facts.checksum
    }

    /// Whether there is room for so many bytes; a reason when there is not.
    package func lacksRoom(for incoming: Int64) throws -> String? {
        let place = exists ? directory : Path.parent(of: directory)
        return try options.diskGuard.decision(at: place, incoming: incoming).reason
    }

    /// Its unfinished uploads.
    package func uploads() throws -> UploadStore {
        if let uploadStore { return uploadStore }
        let store = try UploadStore(
            Path.join(directory, "uploads"),
            limits: options.uploadLimits,
            clock: options.now
        )
        uploadStore = store
        return store
    }

    func fence() -> Fence {
        Fence(
            head: index.head,
            isEmpty: index.isEmpty,
            lineage: stateFile.state.lineage,
            lease: stateFile.state.lease,
            now: options.now(),
            leaseDuration: options.leaseDuration.wholeMilliseconds
        )
    }

    /// The files of a level from a TXID on.
    package func files(level: Int, from seek: TXID) async throws -> [BucketFile] {
        try await refresh()
        return index.files(level: level).filter { $0.minTXID >= seek }
    }

    /// When the newest change in the bucket was made, milliseconds since 1970.
    package func headTimestamp() async throws -> Int64? {
        try await refresh()
        return index.file(endingAt: index.head)?.timestamp
    }

    // MARK: One write at a time

    /// Runs a write alone, also one that has to wait for the mirror in its middle.
    func exclusively<R: Sendable>(_ body: () async throws -> R) async rethrows -> R {
        if isWriting {
            await withCheckedContinuation { writers.append($0) }
        }
        isWriting = true
        defer {
            // Handed on, not opened: nobody comes in between.
            if writers.isEmpty { isWriting = false } else { writers.removeFirst().resume() }
        }
        return try await body()
    }

    // MARK: Life

    /// Starts to apply what comes to the live copy.
    package func start() {
        guard following == nil, adoption == nil, !isShutDown else { return }
        options.opened()
        let live = live
        following = Task { await live.run() }
    }

    /// Starts to apply, if an earlier process left anything.
    ///
    /// Where there is nothing yet, a first state that arrives makes the live copy on its way.
    package func startFound() async {
        try? await refreshIndex()
        if index.isEmpty, live.takesImages { return }
        start()
    }

    /// Starts to apply once the live copy has taken what was made of a file while it arrived.
    func start(after intake: FileIntake?) {
        guard let intake, intake.makesImage, following == nil, adoption == nil, !isShutDown else {
            return start()
        }
        adoption = Task { [live] in
            // One that cannot be taken is made from the bucket, as any other.
            if let image = await intake.image() { try? await live.adopt(image) }
            adoption = nil
            start()
        }
    }

    /// Ends every stream, and lets none begin.
    package func endStreams() {
        isShutDown = true
        endFollowers()
    }

    /// Ends the streams and the live copy.
    package func shutDown() async {
        endStreams()
        uploadStore?.endFollowers()
        await adoption?.value
        following?.cancel()
        await following?.value
        await live.close()
    }
}

/// What is known of the file that ends at the head.
struct HeadFacts: Hashable, Sendable {
    var txid: TXID
    var pageSize: UInt32
    var commit: UInt32
    /// Of the whole file.
    var checksum: Checksum

    init(_ verified: VerifiedFile) {
        txid = verified.header.maxTXID
        pageSize = verified.header.pageSize
        commit = verified.header.commit
        checksum = verified.fileChecksum
    }

    /// Reads header and trailer of a file of a bucket.
    init(of reader: any RandomReader) throws {
        let header = try LTXHeader(of: reader)
        txid = header.maxTXID
        pageSize = header.pageSize
        commit = header.commit
        var bytes = [UInt8](repeating: 0, count: 8)
        let end = max(0, reader.sizeInBytes - 8)
        _ = try bytes.withUnsafeMutableBytes { try reader.read(at: end, into: $0) }
        checksum = Checksum(rawValue: bytes.reduce(0) { $0 << 8 | UInt64($1) })
    }
}

extension Duration {
    /// Whole milliseconds, at most what fits.
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return overflow ? .max : product &+ attoseconds / 1_000_000_000_000_000
    }
}
