import Bucket
import DurableFiles
import LTXCodec
import Replica
import Wire

extension SinkService {
    func freshness(_ database: SinkDatabase) async throws -> HTTPResponse {
        let freshness = try await state(of: database)
        return .text(
            freshness.json(now: options.now()).line + "\n",
            type: "application/json",
            headers: [("cache-control", "no-store")]
        )
    }

    /// How new a mirror is, each value from what it is about.
    private func state(of database: SinkDatabase) async throws -> Freshness {
        let condition = try await database.condition()
        let status = database.live.status
        var freshness = Freshness(
            database: database.name,
            lineage: condition.lineage,
            applied: Freshness.Applied(status),
            bucketTXID: condition.head,
            bucketTimestamp: try await database.headTimestamp(),
            isDiverged: status.divergence != nil,
            lockHolder: status.blockedBy?.processID
        )
        if let query = options.newestSample[database.name.description] ?? options.newestSampleOfAll
        {
            freshness.newestSample = .init(await database.live.newestSample(query))
        }
        return freshness
    }

    func metricsPage() async -> HTTPResponse {
        for database in catalog.all where await database.exists {
            guard let freshness = try? await state(of: database) else { continue }
            let label = Metrics.Label.database(database.name)
            let status = database.live.status
            metrics.set(.bucketTXID, to: Double(freshness.bucketTXID.rawValue), label)
            metrics.set(.txid, to: Double(status.appliedTXID.rawValue), label)
            metrics.set(
                .databaseSize,
                to: Double(status.commit) * Double(status.pageSize),
                label
            )
            metrics.set(.lagTXIDs, to: Double(freshness.lagTXIDs), label)
            metrics.set(.lagSeconds, to: Double(freshness.lagMilliseconds ?? 0) / 1000, label)
            metrics.set(.diverged, to: freshness.isDiverged ? 1 : 0, label)
            if let store = try? await database.uploads() {
                metrics.set(.uploads, to: Double(store.count), label)
            }
        }
        if let space = try? DiskSpace.of(options.data) {
            metrics.set(.diskAvailable, to: Double(space.available))
            let reserve = options.diskGuard.reserve.bytes(of: space.total)
            metrics.set(.diskReserve, to: Double(reserve))
            let isFull = options.diskGuard.decision(space, incoming: 0) != .ok
            metrics.set(.diskFull, to: isFull ? 1 : 0)
        }
        return .text(metrics.text, type: Metrics.mediaType)
    }
}

extension Freshness.Applied {
    /// `nil` while the mirror is empty.
    init?(_ status: MirrorStatus) {
        guard status.appliedTXID > .zero, let writer = status.writer else { return nil }
        self.init(
            txid: status.appliedTXID,
            timestamp: status.timestamp,
            appliedAt: status.appliedAt ?? 0,
            writer: writer == .ingest ? .ingest : .replication
        )
    }
}

extension Freshness.NewestSample {
    init(_ sample: Replica.NewestSample) {
        switch (sample.time, sample.note) {
        case (_, let note?): self = .failed(note)
        case (.milliseconds(let time)?, nil): self = .time(time)
        case (.text?, nil): self = .failed("the query gives a text, not milliseconds since 1970")
        case (nil, nil): self = .time(nil)
        }
    }
}
