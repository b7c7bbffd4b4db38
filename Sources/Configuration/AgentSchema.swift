/// What is known about the keys of `agent.yml` beyond their own sections.
enum AgentSchema {
    /// Every key, by its path; a test compares the list with what reading asks for.
    static let paths = [
        "database", "destination", "device",
        "push", "push.interval", "push.on-start", "push.on-conflict",
        "checkpoint", "checkpoint.pages", "checkpoint.pin",
        "backlog", "backlog.budget", "backlog.limit",
        "collector", "collector.flush-interval", "collector.speed",
        "streams", "streams.name", "streams.columns", "streams.columns.name",
        "streams.columns.type", "streams.source", "streams.source.kind", "streams.source.signal",
        "streams.source.seed", "streams.source.file", "streams.source.time-column",
        "streams.source.speed", "streams.source.history", "streams.source.capacity",
        "streams.source.batch-rows",
        "log", "log.level", "log.format",
    ]

    /// Settings that people who know other replicators look for, and why they are not here.
    static let unsupported = [
        "age": "LTX files are not encrypted; encrypt the file system of the destination",
        "compaction": "the device ships level 0 only",
        "dbs": "one agent replicates one database, named by \"database\"",
        "encryption": "LTX files are not encrypted; encrypt the file system of the destination",
        "encryption-key": "LTX files are not encrypted; encrypt the file system of the destination",
        "levels": "the device ships level 0 only",
        "replica": "write the place to \"destination\"",
        "replicas": "one agent has one \"destination\"",
        "retention": "nothing is deleted from the destination by this version",
        "snapshot": "a snapshot is made when one is needed, never by the clock",
        "sync-interval": "the interval between pushes is \"interval\" under \"push\"",
        "validation": "run dormouse verify instead",
    ]

    /// The groups in which a key exists; the empty path is the top level.
    static func homes(of name: String) -> [String] {
        paths.compactMap { path in
            var parts = path.split(separator: ".")
            guard let last = parts.popLast(), last == name else { return nil }
            return parts.joined(separator: ".")
        }
    }
}
