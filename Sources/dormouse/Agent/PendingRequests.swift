import Lifecycle
import Replication
import SQLiteBridge
import Wire

/// Requests of the control socket whose answer is still to come, and what they wait for.
struct PendingRequests {
    private var pushes: [Repeated] = []
    private var checkpoints: [UInt64] = []
    private var backgrounds: [UInt64] = []
    private var foregrounds: [UInt64] = []

    private var reloads: [Repeated] = []

    /// A request for something that may be going on.
    private struct Repeated {
        var peer: UInt64
        /// The one that was going on when it was asked for does not count.
        var skips: Bool
    }

    typealias Answer = (peer: UInt64, line: String)

    var wantsPush: Bool { !pushes.isEmpty }
    var wantsCheckpoint: Bool { !checkpoints.isEmpty }

    mutating func addPush(_ peer: UInt64, isPushing: Bool) {
        pushes.append(Repeated(peer: peer, skips: isPushing))
    }

    mutating func addReload(_ peer: UInt64, isReloading: Bool) {
        reloads.append(Repeated(peer: peer, skips: isReloading))
    }

    mutating func addCheckpoint(_ peer: UInt64) { checkpoints.append(peer) }
    mutating func addBackground(_ peer: UInt64) { backgrounds.append(peer) }
    mutating func addForeground(_ peer: UInt64) { foregrounds.append(peer) }

    /// A push ended.
    mutating func pushed(_ record: PushRecord) -> [Answer] {
        let line = ControlAnswer.line(
            ok: record.outcome.isSuccess,
            error: record.outcome.isSuccess
                ? nil
                : "\(record.outcome.name) (\(record.outcome.reason ?? "")): \(record.outcome.detail)",
            [.init("push", record.json)]
        )
        return Self.answer(&pushes, line)
    }

    /// A reload ended.
    mutating func reloaded(_ report: ReloadReport, in phase: Phase) -> [Answer] {
        let line = ControlAnswer.line(
            ok: report.error == nil,
            error: report.error,
            [
                .init("phase", .string(phase.name)),
                .init("needs_restart", .array(report.needRestart.map(JSONValue.string))),
            ]
        )
        return Self.answer(&reloads, line)
    }

    private static func answer(_ requests: inout [Repeated], _ line: String) -> [Answer] {
        defer {
            requests = requests.filter(\.skips).map { Repeated(peer: $0.peer, skips: false) }
        }
        return requests.filter { !$0.skips }.map { ($0.peer, line) }
    }

    /// A checkpoint ended.
    mutating func checkpointed(_ result: Result<CheckpointReport, any Error>) -> [Answer] {
        defer { checkpoints = [] }
        let line =
            switch result {
            case .success(let report):
                ControlAnswer.line(
                    ok: true,
                    [
                        .init("complete", .bool(report.result.isComplete)),
                        .init(
                            "lock_held_usec",
                            .number(Int64(report.lockHeld / .microseconds(1)))
                        ),
                    ]
                )
            case .failure(let error): ControlAnswer.line(ok: false, error: "\(error)")
            }
        return checkpoints.map { ($0, line) }
    }

    /// A phase was entered: some have what they wait for, others will not get it.
    mutating func entered(_ phase: Phase) -> [Answer] {
        let fact = JSONValue.Member("phase", .string(phase.name))
        let done = ControlAnswer.line(ok: true, [fact])
        func refused(_ why: String) -> String { ControlAnswer.line(ok: false, error: why, [fact]) }
        var answers: [Answer] = []
        switch phase {
        case .launching, .background, .resuming: return []
        case .foreground:
            answers += foregrounds.map { ($0, done) }
            answers += backgrounds.map { ($0, refused("it entered the foreground instead")) }
        case .suspended:
            answers += backgrounds.map { ($0, done) }
            answers += pushes.map { ($0.peer, refused(Self.atRest)) }
            answers += checkpoints.map { ($0, refused(Self.atRest)) }
            pushes = []
            checkpoints = []
            backgrounds = []
            // Whoever waits for the foreground will have it.
            return answers
        case .terminating:
            let why = refused("it is about to end")
            answers += (backgrounds + foregrounds + checkpoints).map { ($0, why) }
            checkpoints = []
        }
        backgrounds = []
        foregrounds = []
        return answers
    }

    static let atRest =
        "it is at rest and may be stopped at any moment; ask for the foreground, or for the "
        + "background again, first"

    /// The budget is over, and it is not at rest.
    mutating func overdue() -> [Answer] {
        defer { backgrounds = [] }
        let line = ControlAnswer.line(
            ok: false,
            error: "it did not come to rest within its budget; a lock may be held"
        )
        return backgrounds.map { ($0, line) }
    }
}

/// The lines of a control socket: a JSON object with `ok`, perhaps `error`, and facts.
enum ControlAnswer {
    /// How an answer begins that says yes.
    static let accepted = "{\"ok\":true"

    static func line(
        ok: Bool,
        error: String? = nil,
        _ facts: [JSONValue.Member] = []
    ) -> String {
        var members: [JSONValue.Member] = [.init("ok", .bool(ok))]
        if let error { members.append(.init("error", .string(error))) }
        return JSONValue.object(members + facts).line
    }
}
