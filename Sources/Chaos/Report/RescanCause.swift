/// Who gave cause for a rescan, as far as the story tells.
public enum RescanCause: Hashable, Sendable {
    /// Somebody else checkpointed since the last push that succeeded began.
    case foreign
    /// The agent was killed since then, and its own sealed checkpoint can have been the last thing
    /// it did: of a WAL that nobody wrote to after it nothing is left to go by.
    case kill
    /// The bucket is not as it was left, and a push broke off since then, with which the answer to
    /// a whole-database upload can have been lost.
    case lostAnswer
    /// Nobody; or it has no reason.
    case unknown

    private static let afterKill = [
        "wal-truncated", "restarted-repeatedly", "restarted-past-cursor",
    ]

    /// The cause of each rescan of a story, in the order of time.
    public static func ofAll(in story: Story) -> [RescanCause] {
        let foreign = story.marks.filter { $0.kind == .foreign }.map(\.at)
        let deaths = story.marks.filter { $0.kind == .death }.map(\.at)
        var since = Duration.zero
        var hasFailed = false
        var pushesSinceRescan = Int.max
        var causes: [RescanCause] = []
        for record in story.records {
            switch record.kind {
            case "push":
                let push = PushFact(record)
                hasFailed = !push.isSuccess
                if pushesSinceRescan < .max { pushesSinceRescan += 1 }
                if push.isSuccess { since = push.start }
            case "custody-lost":
                func happened(_ times: [Duration]) -> Bool {
                    times.contains { $0 >= since && $0 <= record.at }
                }
                defer { pushesSinceRescan = 0 }
                let reason = record["reason"] ?? ""
                if reason.isEmpty {
                    causes.append(.unknown)
                } else if reason == "no-place", pushesSinceRescan <= 1, let cause = causes.last {
                    // Beside a writer, a comparison finds the pages but not always a new place.
                    causes.append(cause)
                } else if reason == "bucket-changed" {
                    causes.append(hasFailed || happened(deaths) ? .lostAnswer : .unknown)
                } else if happened(foreign) {
                    causes.append(.foreign)
                } else {
                    let canBe = afterKill.contains(reason) && happened(deaths)
                    causes.append(canBe ? .kill : .unknown)
                }
            default: break
            }
        }
        return causes
    }
}
