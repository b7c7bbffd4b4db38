import Testing

/// A wrong configuration and the lines that are said about it.
struct Refusal: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    let lines: [String]

    var testDescription: String { name }

    /// A whole file.
    init(_ name: String, whole text: String, _ lines: String...) {
        self.name = name
        bytes = Array(text.utf8)
        self.lines = lines
    }

    /// What follows a database and a destination, from line 3.
    init(_ name: String, _ text: String, _ lines: String...) {
        self.name = name
        bytes = Array(("database: /d\ndestination: /b\n" + text).utf8)
        self.lines = lines
    }
}

extension Refusal {
    static let ofShape = [
        Refusal(
            "anchors, aliases, merge keys and tags",
            "push: &p { interval: 1m }\nlog: *p\ncollector: { <<: *p }\ndevice: !!str x",
            "a.yml:3: anchors (&name) are not supported: write the value out",
            "a.yml:4: aliases (*name) are not supported: write the value out",
            "a.yml:5: aliases (*name) are not supported: write the value out",
            "a.yml:5: collector.<<: unknown key: here can be flush-interval, speed",
            "a.yml:6: tags (!name) are not supported"
        ),
        Refusal(
            "two documents",
            "---\ndevice: x",
            "a.yml:3: a second document starts here: a file holds one"
        ),
        Refusal(
            "deep nesting",
            "push: [[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]",
            "a.yml:3: nested deeper than 12 levels"
        ),
        Refusal(
            "a list at the top",
            whole: "- database: /d",
            "a.yml:1: must be a group of settings, not a list"
        ),
        Refusal("a key that is no word", "? [a, b]\n: c", "a.yml:3: a key must be a word"),
        Refusal("comments alone", whole: "# nothing\n", "a.yml: has no settings"),
        Refusal(
            "broken syntax",
            "push: { interval: 1m\nlog: [",
            "a.yml:4: not valid YAML: did not find expected ',' or '}' while parsing a flow mapping"
        ),
        Refusal(
            "binary garbage",
            "device: a\u{1}b",
            "a.yml:3: not a text file: control characters are not allowed, byte 38"
        ),
        Refusal(
            "a misspelt key",
            "devise: x\npush: { intervall: 1m }",
            "a.yml:3: devise: unknown key: did you mean \"device\"?",
            "a.yml:4: push.intervall: unknown key: did you mean \"interval\"?"
        ),
        Refusal(
            "a key at the wrong level",
            "interval: 1m\npush: { pin: hold }\nlog:\n  device: x",
            "a.yml:3: interval: is at the wrong level: it belongs under \"push\"",
            "a.yml:4: push.pin: is at the wrong level: it belongs under \"checkpoint\"",
            "a.yml:6: log.device: is at the wrong level: it belongs at the top level"
        ),
        Refusal(
            "a misspelt key at the wrong level",
            "flush-intervall: 1m",
            "a.yml:3: flush-intervall: unknown key: did you mean \"flush-interval\""
                + " under \"collector\"?"
        ),
        Refusal(
            "a key like none",
            "push: { quux: 1 }",
            "a.yml:3: push.quux: unknown key: here can be interval, on-start, on-conflict"
        ),
        Refusal(
            "a duplicate key",
            "device: a\npush: { on-start: true,\n  on-start: false }\ndevice: b",
            "a.yml:5: push.on-start: set twice: line 4 has it already",
            "a.yml:6: device: set twice: line 3 has it already"
        ),
        Refusal(
            "settings of other replicators",
            "retention: 72h\npush:\n  retention: 24h\nencryption:\n  key: x",
            "a.yml:3: retention: is not supported: nothing is deleted from the destination by"
                + " this version",
            "a.yml:5: push.retention: is not supported: nothing is deleted from the destination by"
                + " this version",
            "a.yml:6: encryption: is not supported: LTX files are not encrypted; encrypt the file"
                + " system of the destination"
        ),
    ]

    static let ofValues = [
        Refusal(
            "a transfer service without a spool",
            "transfer: { start: child }",
            "a.yml:3: transfer.start: needs \"spool\" beside it"
        ),
        Refusal(
            "a spool where the bucket is",
            "transfer: { spool: /b/spool, start: always }",
            "a.yml:3: transfer.spool: lies in \"destination\": what waits must not pass for what is"
                + " stored",
            "a.yml:3: transfer.start: \"always\" is not known: use one of none, child"
        ),
        Refusal(
            "impossible durations",
            "push: { interval: 0s }\ncollector: { flush-interval: -30s }",
            "a.yml:3: push.interval: \"0s\" is out of range: 100ms to 24h",
            "a.yml:4: collector.flush-interval: \"-30s\" is out of range: 100ms to 1h"
        ),
        Refusal(
            "texts that are no durations",
            "push: { interval: 30 }\ncollector: { flush-interval: soon }",
            "a.yml:3: push.interval: \"30\" has no unit: write 30s for seconds",
            "a.yml:4: collector.flush-interval: \"soon\" is not a duration such as 500ms, 30s, 5m,"
                + " 2h or 1h30m"
        ),
        Refusal(
            "wrong types",
            """
            push: 15m
            checkpoint: { pages: "10", pin: [hold] }
            collector: { speed: nan }
            device: { x: 1 }
            streams: heart_rate
            log: { level: loud, format: }
            """,
            "a.yml:3: push: must be a group of settings, not \"15m\"",
            "a.yml:4: checkpoint.pages: must be a whole number, not a quoted text",
            "a.yml:4: checkpoint.pin: must be one of hold, yield, not a list",
            "a.yml:5: collector.speed: must be a number such as 1, 0.5 or 21, not \"nan\"",
            "a.yml:6: device: must be a text, not a group of settings",
            "a.yml:7: streams: must be a list, not \"heart_rate\"",
            "a.yml:8: log.level: \"loud\" is not known: use one of error, warning, notice, info,"
                + " debug",
            "a.yml:8: log.format: must be one of auto, journal, logfmt, not nothing"
        ),
        Refusal(
            "a word for true that YAML versions disagree on",
            "push: { on-start: yes }",
            "a.yml:3: push.on-start: must be true or false, not \"yes\""
        ),
        Refusal(
            "a misspelt word",
            "checkpoint: { pin: yeild }",
            "a.yml:3: checkpoint.pin: \"yeild\" is not known: did you mean \"yield\"?"
        ),
        Refusal(
            "numbers out of range",
            "checkpoint: { pages: 0 }\ncollector: { speed: -1 }",
            "a.yml:3: checkpoint.pages: \"0\" is out of range: 1 to 1000000",
            "a.yml:4: collector.speed: \"-1\" is out of range: 0.001 to 1000000"
        ),
        Refusal(
            "sizes that are none, too small, or the wrong way round",
            "backlog: { budget: 64 MiBs, limit: 1KiB }",
            "a.yml:3: backlog.budget: \"64 MiBs\" is not a size such as 4096, 64KiB, 64MiB or 1GB",
            "a.yml:3: backlog.limit: \"1KiB\" is out of range: 1MiB to 1PiB"
        ),
        Refusal(
            "a backlog limit below its budget",
            "backlog:\n  budget: 2GiB\n  limit: 1GiB",
            "a.yml:5: backlog.limit: is below \"budget\""
        ),
        Refusal(
            "what is required and not there, with what else is wrong",
            whole: "push: { interval: 0s }",
            "a.yml: database: is required and not set",
            "a.yml: destination: is required and not set",
            "a.yml:1: push.interval: \"0s\" is out of range: 100ms to 24h"
        ),
        Refusal(
            "a relative path and nothing",
            whole: "database: data/x.db\ndestination: ~\n",
            "a.yml:1: database: \"data/x.db\" must be an absolute path: an agent has no directory"
                + " of its own",
            "a.yml:2: destination: must be a text, not nothing"
        ),
        Refusal(
            "the database as the destination",
            whole: "database: /d\ndestination: file:///d\n",
            "a.yml:2: destination: is the database itself"
        ),
        Refusal(
            "a directory as the database, and control characters",
            whole: "database: /d/\ndestination: \"/b\\0x\"\ndevice: \"a\\nb\"",
            "a.yml:1: database: \"/d/\" is a directory",
            "a.yml:2: destination: contains a control character",
            "a.yml:3: device: contains a control character"
        ),
        Refusal(
            "a destination of a later version",
            whole: "database: /d\ndestination: s3://bucket/x\n",
            "a.yml:2: destination: s3://bucket/x: not supported by this version yet;"
                + " use a directory"
        ),
        Refusal(
            "settings of a sink beside a directory",
            "http: { idle-timeout: 5s }",
            "a.yml:3: http: has no use: \"destination\" is a directory"
        ),
        Refusal(
            "settings of a sink that are wrong",
            whole: """
                database: /d
                destination: https://sink:8080/db/x
                http:
                  token-file: token
                  token: abc
                  client-key: /k.pem
                  connect-timeout: 0s
                  idle-timeout: 2h
                  request-timeout: 25h
                """,
            "a.yml:4: http.token-file: \"token\" must be an absolute path: an agent has no"
                + " directory of its own",
            "a.yml:5: http.token: is not supported: a token is never written into the file: name"
                + " \"token-file\" or \"token-credential\" under \"http\"",
            "a.yml:6: http.client-key: needs \"client-certificate\" beside it",
            "a.yml:7: http.connect-timeout: \"0s\" is out of range: 1s to 1h",
            "a.yml:8: http.idle-timeout: \"2h\" is out of range: 1s to 1h",
            "a.yml:9: http.request-timeout: \"25h\" is out of range: 1s to 24h"
        ),
        Refusal(
            "two places for one token",
            whole:
                "database: /d\ndestination: http://s/db/x\nhttp: { token-file: /t, client-certificate: /c,\n"
                + "  token-credential: t }",
            "a.yml:3: http.client-certificate: needs \"client-key\" beside it",
            "a.yml:4: http.token-credential: is set beside \"token-file\": one of them is enough"
        ),
        Refusal(
            "a name that no device can have",
            "device: strap 1",
            "a.yml:3: device: \"strap 1\" must be 1 to 64 of the letters A-Z, a-z, digits and"
                + " . _ : -"
        ),
    ]
}
