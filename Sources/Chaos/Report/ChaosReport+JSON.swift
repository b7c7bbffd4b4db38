public import Wire

extension ChaosReport {
    /// The stable form for programs; docs/cli.md has its keys.
    public var json: JSONValue {
        .object([
            .init("scenario", .string(story.name)),
            .init("seed", .number(story.seed)),
            .init("full", .bool(story.isFull)),
            .init("speed", .double(story.pace.speed)),
            .init("scale", .number(story.pace.scale)),
            .init("duration_usec", .number(Self.microseconds(story.length))),
            .init("as_expected", .bool(verdict.holds)),
            .init("checks", .array(verdict.checks.map(Self.json))),
            .init(
                "values",
                .object(
                    Metric.allCases.map { metric in
                        .init(Self.key(metric), .number(verdict.values[metric] ?? 0))
                    }
                )
            ),
            .init("rows_acknowledged", .optional(closing.rowsAcknowledged, JSONValue.number)),
            .init("rows_source", .number(closing.rowsInSource)),
            .init("rows_mirror", .optional(closing.rowsInMirror, JSONValue.number)),
            .init("rows_restored", .number(closing.rowsRestored)),
            .init("pages_compared", .number(closing.pagesCompared)),
            .init("database_bytes", .number(closing.databaseBytes)),
            .init("ideal_bytes", .number(closing.idealBytes)),
            .init(
                "counts",
                .array(
                    counts.map { entry in
                        .object([
                            .init("kind", .string(entry.name)),
                            .init("reason", .string(entry.reason)),
                            .init("count", .number(entry.count)),
                        ])
                    }
                )
            ),
            .init("locks", .array(story.locksHeld.map { .string($0.description) })),
            .init("pushes", .array(story.pushes.map(Self.json))),
            .init("uploads", .array(story.uploads.map(Self.json))),
            .init(
                "spans",
                .array(
                    story.spans.map { span in
                        .object([
                            .init("lane", .string(span.lane.rawValue)),
                            .init("label", .string(span.label)),
                            .init("from_usec", .number(Self.microseconds(span.from))),
                            .init("to_usec", .number(Self.microseconds(span.to))),
                        ])
                    }
                )
            ),
            .init(
                "marks",
                .array(
                    story.marks.map { mark in
                        .object([
                            .init("kind", .string(mark.kind.rawValue)),
                            .init("label", .string(mark.label)),
                            .init("at_usec", .number(Self.microseconds(mark.at))),
                        ])
                    }
                )
            ),
        ])
    }

    private static func json(_ check: Verdict.Check) -> JSONValue {
        .object([
            .init("metric", .string(check.expectation.metric.rawValue)),
            .init("value", .number(check.value)),
            .init("low", .optional(check.expectation.low, JSONValue.number)),
            .init("high", .optional(check.expectation.high, JSONValue.number)),
            .init("holds", .bool(check.holds)),
        ])
    }

    private static func json(_ push: PushFact) -> JSONValue {
        .object([
            .init("at_usec", .number(microseconds(push.end))),
            .init("duration_usec", .number(microseconds(push.length))),
            .init("outcome", .string(push.outcome)),
            .init("reason", .optional(push.reason, JSONValue.string)),
            .init("detail", .optional(push.detail, JSONValue.string)),
            .init("sync_kind", .string(push.kind)),
            .init("evidence", .optional(push.evidence, JSONValue.string)),
            .init("txid", .string(push.txid)),
            .init("files", .number(push.files)),
            .init("bytes", .number(push.bytes)),
            .init("backlog_bytes", .number(push.backlogBytes)),
            .init("wal_bytes", .number(push.walBytes)),
            .init("streak", .number(push.streak)),
        ])
    }

    private static func json(_ upload: Story.Upload) -> JSONValue {
        .object([
            .init("target", .string(upload.target)),
            .init("offset", .number(upload.offset)),
            .init("length", .number(upload.length)),
            .init("bytes", .number(upload.bytes)),
            .init("status", .optional(upload.status, JSONValue.number)),
        ])
    }

    /// Keys of JSON are words with underscores.
    private static func key(_ metric: Metric) -> String {
        String(metric.rawValue.map { $0 == "-" ? "_" : $0 })
    }

    private static func microseconds(_ duration: Duration) -> Int64 {
        Int64(duration / .microseconds(1))
    }
}
