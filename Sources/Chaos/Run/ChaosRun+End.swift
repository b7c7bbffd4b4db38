import Bucket
import Configuration
import DurableFiles
import Glibc
import Lifecycle
import Replica
import Replication

extension ChaosRun {
    /// Asks for a push, over the control socket if there is one.
    private func nudge() async throws {
        if await !isAsked(.push) { try await agent.send(SIGCONT) }
    }

    /// Waits until a push that began from now on succeeded and left nothing behind.
    ///
    /// - Returns: Whether it did.
    @discardableResult
    func settle(within limit: Duration) async throws -> Bool {
        let from = book.now
        let done: @Sendable (RecordBook.State) -> Bool = { state in
            guard let record = state.records.last(where: { $0.kind == "push" }) else {
                return false
            }
            let push = PushFact(record)
            return push.isSuccess && push.backlogFiles == 0 && push.start >= from
        }
        await hasStarted()
        while book.now - from < limit {
            try await stayAlive()
            try await nudge()
            let step = min(.seconds(2), limit - (book.now - from))
            if await book.wait(within: max(step, .milliseconds(50)), until: done) { return true }
        }
        return false
    }

    /// Heals everything, lets the agent finish its work, and ends it and the sink.
    func comeToRest() async throws {
        flapping?.cancel()
        flapping = nil
        await bench.heal()
        for lane in Story.Lane.allCases { closeSpan(lane) }
        await meddler.releaseLock()
        try await bench.startSink()
        tell("everything is healed; the agent finishes")
        for _ in 1...3 {
            try await stayAlive()
            if phase != .foreground { try await perform(Plan.Item(.foreground)) }
            guard try await settle(within: .seconds(120)) else {
                throw ChaosError("nothing went through at the end: \(lastPush)")
            }
            await hasStarted()
            asked = book.launches
            try await agent.send(SIGTERM)
            try await agent.settleEnd(book)
            enter(.dead)
            if let push = book.records.last(where: { $0.kind == "push" }).map(PushFact.init),
                push.isSuccess, push.backlogFiles == 0
            {
                break
            }
        }
        enter(.dead)
        await bench.stopSink(.terminate)
    }

    private var lastPush: String {
        guard let push = book.records.last(where: { $0.kind == "push" }).map(PushFact.init)
        else { return "there was no push" }
        return "the last push was \(push.outcome) (\(push.reason ?? "")): \(push.detail ?? "")"
    }

    /// Counts and compares, with everybody at rest.
    func closing() async throws -> Closing {
        var closing = Closing()
        let restored = Path.join(bench.directory, "restored.db")
        let isUnit = options.unit != nil
        let mirror = isUnit ? options.unit?.mirror : bench.mirror
        let directory: DirectoryBucket? =
            if isUnit {
                if case .directory(let path) = config.destination {
                    DirectoryBucket(path)
                } else {
                    nil
                }
            } else {
                DirectoryBucket(bench.bucket)
            }
        let client: any BucketClient =
            try directory ?? config.destination.client(http: HTTPBucketOptions())
        _ = try await Restore(bucket: client, output: restored).run()
        let check = try await SourceCheck.run(database: config.database, bucket: client)
        closing.pagesCompared = check.verification.pagesCompared
        closing.pagesDiffering = check.verification.differingCount
        closing.rowsInSource = try await meddler.rows(in: config.database)
        closing.rowsRestored = try await meddler.rows(in: restored)
        if let mirror {
            closing.rowsInMirror = try await meddler.rows(in: mirror)
            closing.mirrorPagesDiffering = try FileComparison.differingBlocks(mirror, restored)
        }
        closing.databaseBytes = (try FileStatus.of(restored))?.sizeInBytes ?? 0
        let records = book.records
        let flushes = records.filter {
            $0.kind == "flush" && $0["rows"] != nil && $0["level"] == "debug"
        }
        // Of a unit's earlier lives nothing is known.
        if !isUnit {
            closing.rowsAcknowledged = flushes.reduce(foreignRows) { $0 + $1.number("rows") }
        }
        if let directory { closing.idealBytes = try await Ideal.bytes(of: directory) }
        if let requests = bench.proxy?.requests {
            story.uploads = requests.filter(\.isUpload).map { request in
                Story.Upload(
                    target: request.target,
                    offset: request.offset ?? 0,
                    length: request.length,
                    bytes: request.bodyBytes,
                    status: request.status
                )
            }
            closing.bytesShipped = story.uploads.reduce(0) { $0 + $1.bytes }
            closing.resumedUploads = story.uploads.count { $0.offset > 0 }
        } else {
            closing.bytesShipped = records.filter { $0.kind == "push" }.reduce(0) {
                $0 + $1.number("bytes")
            }
        }
        return closing
    }

    // MARK: The control socket

    private var controlPath: String {
        config.control ?? Path.join(ReplicatorStatus.directory(of: config.database), "control")
    }

    /// Sends a request and does not wait for what comes of it.
    ///
    /// - Returns: Whether there is somebody to ask.
    private func isAsked(_ request: ControlRequest) async -> Bool {
        let path = controlPath
        guard (try? FileStatus.ofEntry(path)) != nil else { return false }
        Task { _ = await Self.ask(request, at: path) }
        return true
    }

    /// The answer to a request, or why there is none.
    func control(_ request: ControlRequest) async -> String {
        await hasStarted()
        return await Self.ask(request, at: controlPath)
    }

    /// On a thread of its own, because it blocks.
    private static func ask(_ request: ControlRequest, at path: String) async -> String {
        await withCheckedContinuation { continuation in
            OwnThread.required {
                do {
                    let answer = try ControlClient(path: path).ask(request)
                    continuation.resume(returning: answer)
                } catch {
                    continuation.resume(returning: "\(error)")
                }
            }
        }
    }
}
