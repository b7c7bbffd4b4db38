import DurableFiles
import Lifecycle
import Replication

/// What a replication loop has done, one at a time, and waits for.
enum Job: Sendable {
    case establish, push, checkpoint, rest
}

/// What came of a job, and what there is to say of it beside.
struct JobReport: Sendable {
    var result: JobResult
    var findings: Findings
}

enum JobResult: Sendable {
    case established(Result<Void, any Error>)
    case pushed(PushRecord, start: ContinuousClock.Instant)
    case checkpointed(Result<CheckpointReport, any Error>)
    /// What went wrong on the way; at rest it is all the same.
    case rested([String])
}

/// Does a job, knowing the phase in which it began.
struct JobWorker: Sendable {
    let replicator: Replicator
    let workload: (any Workload)?
    let phase: Phase
    /// At rest no lock may be held.
    let closes: Bool

    func run(_ job: Job) async -> JobReport {
        let result = await result(of: job)
        return JobReport(result: result, findings: await replicator.takeFindings())
    }

    private func result(of job: Job) async -> JobResult {
        switch job {
        case .establish: return .established(await establish())
        case .push:
            let start = ContinuousClock.now
            // What is in memory goes along; if it cannot, the collector says so with its own beat.
            if case .background = phase { try? await workload?.flush() }
            // There the transfer service uploads, where there is one.
            let handsOver = if case .background = phase { true } else { false }
            let record = await replicator.push(handOver: handsOver)
            if case .terminating = phase, !record.outcome.isSuccess {
                // What is owed at the end goes on its way without us.
                try? await replicator.convert()
            }
            return .pushed(record, start: start)
        case .checkpoint:
            do {
                return .checkpointed(.success(try await replicator.checkpoint()))
            } catch {
                return .checkpointed(.failure(error))
            }
        case .rest: return .rested(await rest())
        }
    }

    /// Custody first, then the app, then custody of what the app made.
    private func establish() async -> Result<Void, any Error> {
        do {
            if phase != .launching { try await replicator.resumed() }
            guard let workload else {
                // A database that is not there yet is waited for; the first push says so.
                try? await replicator.start()
                return .success(())
            }
            if try FileStatus.of(replicator.database)?.sizeInBytes ?? 0 > 0 {
                try await replicator.start()
            }
            try await workload.start()
            try await replicator.start()
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    /// Nothing runs any more, and all that was committed is in local files.
    private func rest() async -> [String] {
        var problems: [String] = []
        do {
            try await workload?.rest()
        } catch {
            problems.append("the last flush failed: \(error)")
        }
        // The last push does the rest by itself.
        if case .terminating = phase { return problems }
        do {
            try await replicator.convert()
        } catch {
            problems.append("the WAL was not converted: \(error)")
        }
        if closes { await replicator.close() }
        return problems
    }
}
