public import Bucket
public import DurableFiles
public import Handover
import LTXCodec
import SQLiteBridge
import Transfer

/// Uploads what an agent has spooled for one destination, in the order of the TXIDs.
///
/// An actor on a thread of its own, because files and locks block. It needs no database and no
/// agent: a manifest says all there is to know, and the bucket, or else `AppendCheck`, refuses a
/// file that does not continue what is there. What is on disk is safe against a kill at any point.
public actor TransferService {
    private let executor = SerialThreadExecutor()
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    private let spool: Spool
    private let bucket: any BucketClient
    /// Try each file once, and wait for nothing.
    private let once: Bool
    private let now: @Sendable () -> Int64
    private let report: @Sendable (TransferEvent) -> Void
    private var backoff = Backoff()
    private let clock = ContinuousClock()

    /// Nothing is opened before `run`.
    ///
    /// - Parameters:
    ///   - spool: Where files wait.
    ///   - bucket: Where they belong.
    ///   - once: Try each file once, and wait for nothing.
    ///   - now: The wall clock, milliseconds since 1970.
    ///   - report: Is told what happens, as it happens.
    public init(
        spool: Spool,
        bucket: any BucketClient,
        once: Bool = false,
        now: @escaping @Sendable () -> Int64 = WallClock.now,
        report: @escaping @Sendable (TransferEvent) -> Void
    ) {
        self.spool = spool
        self.bucket = bucket
        self.once = once
        self.now = now
        self.report = report
    }

    private var destination: String { bucket.address.description }

    /// Uploads until nothing waits, or what waits is refused.
    ///
    /// While it waits for a server, or for a server to be asked again, the agent can upload: the
    /// lock is held only while there is something to send.
    ///
    /// - Throws: `FileError` where the spool cannot be used; `CancellationError`.
    public func run() async throws -> TransferEnding {
        try spool.make()
        while true {
            guard let lock = try takeLock() else { return .later }
            let passage = try await drain()
            _ = consume lock
            switch passage {
            case .empty:
                // Who handed over while the lock was held may have been told that we are at work.
                if try !spool.isReady { return .empty }
            case .refused: return .refused
            case .failed(let report):
                guard !once else { return .later }
                let delay = backoff.failed(
                    asked: report.retryAfter,
                    moved: report.moved,
                    jitter: .random(in: 0...1)
                )
                try await ThreadClock().sleep(for: delay)
            }
        }
    }

    /// `nil` when it is held and there is no waiting.
    private func takeLock() throws -> DestinationLock? {
        let path = spool.lockPath(destination)
        switch try DestinationLock.attempt(path) {
        case .taken(let lock): return lock
        case .held(let processID):
            report(.locked(by: processID))
            return once ? nil : try DestinationLock.wait(path)
        }
    }

    private enum Passage {
        case empty, refused
        case failed(UploadReport)
    }

    /// Uploads what there is, the newest additions too.
    private func drain() async throws -> Passage {
        while true {
            let entries = try spool.entries()
            if entries.isEmpty { return .empty }
            for (index, entry) in entries.enumerated() {
                guard let manifest = try manifest(of: entry) else { continue }
                // A kill between the receipt and the end of the manifest.
                if try spool.receipt(manifest.key)?.isStored == true {
                    try spool.remove(manifest.key)
                    continue
                }
                try Task.checkCancellation()
                let report = await upload(manifest)
                try spool.write(Receipt(manifest, at: now(), report.outcome))
                self.report(.upload(report))
                switch report.outcome {
                case .stored:
                    backoff.succeeded()
                    try spool.remove(manifest.key)
                case .retryable: return .failed(report)
                case .conflict, .unavailable:
                    // What comes after it continues it.
                    for entry in entries[index...] {
                        if case .success(let manifest) = entry.manifest {
                            try spool.hold(manifest.key)
                        }
                    }
                    return .refused
                }
            }
        }
    }

    /// The manifest of an entry, if it is ours and whole; else the entry is set aside.
    private func manifest(of entry: Spool.Entry) throws -> Manifest? {
        let why: String
        switch entry.manifest {
        case .failure(let problem): why = "no manifest: \(problem)"
        case .success(let manifest) where manifest.destination != destination:
            why = "it is for \(manifest.destination): one spool serves one destination"
        case .success(let manifest):
            guard let damage = try damage(of: manifest) else { return manifest }
            why = damage
            try DurableFiles.remove(spool.filePath(manifest.key))
        }
        let target = try spool.setAside(entry.path)
        report(.setAside(name: Path.name(of: entry.path), to: target, why: why))
        return nil
    }

    /// What is wrong with the bytes of a manifest, by two small reads.
    private func damage(of manifest: Manifest) throws -> String? {
        let path = spool.filePath(manifest.key)
        guard let status = try FileStatus.ofEntry(path), status.isRegularFile else {
            return "its file is not in the spool"
        }
        guard status.sizeInBytes == manifest.file.sizeInBytes else {
            return "its file has \(status.sizeInBytes) bytes, not \(manifest.file.sizeInBytes)"
        }
        do {
            let file = try FileDescriptor(reading: path)
            let facts = try inspectLTX(sizeInBytes: status.sizeInBytes) { offset, buffer in
                try file.read(at: offset, into: buffer)
            }
            guard facts.header.fileName == manifest.file.name,
                facts.fileChecksum == manifest.fileChecksum
            else { return "its file is another one" }
            return nil
        } catch let error as LTXError {
            return "its file is no LTX file: \(error)"
        }
    }

    // MARK: One file

    private func upload(_ manifest: Manifest) async -> UploadReport {
        let start = clock.now
        var report = UploadReport(
            manifest: manifest,
            outcome: .stored(answer: ""),
            duration: .zero
        )
        do {
            if let live = bucket as? any LiveBucket {
                let path = spool.filePath(manifest.key)
                try await live.put(path, as: manifest.file, facts: manifest.facts)
                report.outcome = .stored(answer: answer(about: manifest.file))
            } else {
                report.outcome = try await append(manifest)
            }
        } catch {
            report.outcome = Self.outcome(of: error)
            if case BucketError.transfer(let failure) = error {
                report.retryAfter = failure.retryAfter
                report.moved = failure.advanced
            }
        }
        report.duration = clock.now - start
        return report
    }

    /// What the bucket said, checked by `put`: the name and the size of what it holds.
    private func answer(about file: BucketFile) -> String { "\(file) \(file.sizeInBytes)" }

    /// Stores a file in a bucket that does not compare by itself.
    private func append(_ manifest: Manifest) async throws -> Receipt.Outcome {
        let file = manifest.file
        let head = try await bucket.head()
        let there = try await bucket.stat(level: file.level, name: file.name)
        let check = AppendCheck(
            manifest,
            head: head,
            headChecksum: try await checksum(ofFileAt: head),
            isThere: there != nil
        )
        if case .conflict(let why) = check {
            return .conflict(detail: "\(destination): \(why)")
        }
        // Where it is present already, the bytes are compared.
        try await bucket.put(spool.filePath(manifest.key), as: file)
        guard let stored = try await bucket.stat(level: file.level, name: file.name) else {
            return .conflict(detail: "\(destination): \(file) is gone again")
        }
        return .stored(answer: answer(about: stored))
    }

    /// The checksum of the level-0 file that ends at a TXID; `nil` where there is none.
    private func checksum(ofFileAt head: TXID) async throws -> Checksum? {
        guard let file = try await bucket.list(level: 0).last(where: { $0.maxTXID == head }) else {
            return nil
        }
        let reader = try await bucket.open(file)
        do {
            return try inspectLTX(sizeInBytes: reader.sizeInBytes) {
                try reader.read(at: $0, into: $1)
            }.fileChecksum
        } catch is LTXError {
            return nil
        }
    }

    /// Which outcome an error is, by the table of pushes.
    private static func outcome(of error: any Error) -> Receipt.Outcome {
        switch Replicator.outcome(of: error) {
        case .retryable(.lineageConflict, let detail): .conflict(detail: detail)
        case .retryable(let reason, let detail):
            .retryable(reason: reason.rawValue, detail: detail)
        case .unavailable(let reason, let detail):
            .unavailable(reason: reason.rawValue, detail: detail)
        case .pushed, .inSync: .retryable(reason: RetryReason.ioError.rawValue, detail: "\(error)")
        }
    }
}
