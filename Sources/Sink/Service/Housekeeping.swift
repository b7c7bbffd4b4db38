import DurableFiles
import SQLiteBridge
import Wire

/// What a sink does by the clock: looks at mirrors and the disk, and sweeps corpses.
///
/// On a thread of its own, since looking through directories blocks.
actor Housekeeping {
    /// How often corpses are looked for, milliseconds.
    static let sweepInterval: Int64 = 3_600_000

    private let executor = SerialThreadExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    private let service: SinkService
    private var mirrors: [DatabaseName: MirrorWatch] = [:]
    private var isDiskFull = false
    private var sweptAt: Int64?

    init(_ service: SinkService) {
        self.service = service
    }

    /// One round.
    func round() async {
        let options = service.options
        for database in service.catalog.all {
            let status = database.live.status
            let findings = mirrors[database.name, default: MirrorWatch()].look(status)
            report(findings, of: database.name)
        }
        lookAtDisk()
        let now = options.now()
        // A clock that was set back must not put the sweep off.
        if let sweptAt, (0..<Self.sweepInterval).contains(now - sweptAt) { return }
        sweptAt = now
        await sweep(now: now)
    }

    /// Looks whether one live copy differs from its source, which nobody should have to wait for.
    func look(at name: DatabaseName) {
        guard let status = service.catalog.known(name)?.live.status else { return }
        let findings = mirrors[name, default: MirrorWatch()].lookForDivergence(status)
        report(findings, of: name)
    }

    private func report(_ findings: [MirrorWatch.Finding], of name: DatabaseName) {
        for finding in findings { service.options.report(finding.event(of: name)) }
    }

    private func lookAtDisk() {
        let options = service.options
        guard let decision = try? options.diskGuard.decision(at: options.data, incoming: 0) else {
            return
        }
        guard isDiskFull != (decision != .ok) else { return }
        isDiskFull = decision != .ok
        options.report(decision.reason.map { .diskFull(reason: $0) } ?? .diskHasRoom)
    }

    private func sweep(now: Int64) async {
        let options = service.options
        var files = 0
        do throws(FileError) {
            files = try Sweeper(options.data).sweep(now: now)
        } catch {
            options.report(.failed(database: nil, what: "sweeping: \(error)"))
        }
        var uploads = 0
        for database in service.catalog.all {
            if let store = try? await database.uploads() { uploads += store.sweep(now: now) }
        }
        service.metrics.add(Double(files), to: .swept, .init("kind", "file"))
        service.metrics.add(Double(uploads), to: .swept, .init("kind", "upload"))
        if files + uploads > 0 { options.report(.swept(files: files, uploads: uploads)) }
    }
}

extension MirrorWatch.Finding {
    fileprivate func event(of database: DatabaseName) -> SinkEvent {
        let name = database.description
        return switch self {
        case .diverged(let txid, let expected, let actual):
            .diverged(database: name, txid: txid, expected: expected, actual: actual)
        case .converged(let txid): .converged(database: name, txid: txid)
        case .lagging(let applied, let bucket, let holder, let why):
            .lagging(database: name, applied: applied, bucket: bucket, holder: holder, why: why)
        case .caughtUp(let txid): .caughtUp(database: name, txid: txid)
        }
    }
}
