extension Schema {
    static let sink = Schema(
        program: "a sink",
        paths: [
            "data", "listen",
            "tls", "tls.certificate", "tls.key",
            "tokens", "tokens.read-write-file", "tokens.read-write-credential",
            "tokens.read-only-file", "tokens.read-only-credential",
            "limits", "limits.upload", "limits.uploads", "limits.connections",
            "limits.idle-timeout", "limits.body-timeout",
            "lease", "lease.ttl",
            "disk", "disk.reserve",
            "freshness", "freshness.query",
            "databases", "databases.name", "databases.freshness", "databases.freshness.query",
            "log", "log.level", "log.format",
        ],
        unsupported: [
            "auth-token": "a token is never written into the file: name a file or a credential"
                + " under \"tokens\"",
            "base-path": "every database is at /db/NAME; let a proxy map other paths",
            "database": "one sink holds many databases, in directories under \"data\"",
            "destination": "that is a setting of agent.yml: a sink is a destination",
            "token": "a token is never written into the file: name a file or a credential"
                + " under \"tokens\"",
            "writable": "who may write is decided by the token",
        ]
    )
}
