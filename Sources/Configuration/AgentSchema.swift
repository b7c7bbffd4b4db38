extension Schema {
    static let agent = Schema(
        program: "an agent",
        paths: agentPaths,
        unsupported: agentUnsupported
    )

    private static let agentPaths = [
        "database", "destination", "device", "control",
        "http", "http.token-file", "http.token-credential", "http.ca-file",
        "http.client-certificate", "http.client-key", "http.connect-timeout",
        "http.idle-timeout", "http.request-timeout",
        "push", "push.interval", "push.on-start", "push.on-conflict",
        "checkpoint", "checkpoint.pages", "checkpoint.pin",
        "backlog", "backlog.budget", "backlog.limit",
        "transfer", "transfer.spool", "transfer.start",
        "collector", "collector.flush-interval", "collector.speed",
        "lifecycle", "lifecycle.background-budget", "lifecycle.extension", "lifecycle.extensions",
        "lifecycle.shared-container",
        "streams", "streams.name", "streams.columns", "streams.columns.name",
        "streams.columns.type", "streams.source", "streams.source.kind", "streams.source.signal",
        "streams.source.seed", "streams.source.file", "streams.source.time-column",
        "streams.source.speed", "streams.source.history", "streams.source.capacity",
        "streams.source.batch-rows",
        "log", "log.level", "log.format",
    ]

    /// Settings that people who know other replicators look for, and why they are not here.
    private static let agentUnsupported = [
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
        "token": "a token is never written into the file: name \"token-file\" or"
            + " \"token-credential\" under \"http\"",
        "validation": "run dormouse verify instead",
    ]
}
