/// The sources, which have different settings each.
extension StreamReader {
    private enum Kind: String, CaseIterable {
        case simulated, csv, backfill

        /// Settings beside `kind`.
        var settings: [String] {
            switch self {
            case .simulated: ["signal", "seed"]
            case .csv: ["file", "time-column", "speed"]
            case .backfill:
                ["signal", "seed", "file", "time-column"]
                    + ["history", "capacity", "speed", "batch-rows"]
            }
        }
    }

    /// Reads a source: a group of settings, or the name of a kind that needs none.
    ///
    /// - Parameters:
    ///   - node: The value of `source`.
    ///   - path: Where it is.
    ///   - stream: The stream's name, if it has a good one.
    ///   - columns: The stream's columns, if it names them.
    /// - Returns: `nil` when something is wrong with it; that has been reported.
    mutating func source(
        _ node: YAMLNode,
        path: String,
        stream: String?,
        columns: [AgentConfig.Column]?
    ) -> AgentConfig.Source? {
        var group = node
        if case .scalar(let scalar) = node.content, !scalar.isEmpty {
            group.content = .mapping([YAMLEntry(key: "kind", line: node.line, value: node)])
            if scalar.text == Kind.csv.rawValue {
                let why = "csv needs settings: write { kind: csv, file: /path/of.csv }"
                problems.add(why, key: path, line: node.line)
                return nil
            }
        }
        guard var section = Section(group, path: path, schema: .agent, problems: problems),
            let kindNode = section.required("kind"),
            let kind = section.choice(kindNode, key: section.key("kind"), Kind.self)
        else { return nil }
        let before = problems.problems.count
        let source: AgentConfig.Source? =
            switch kind {
            case .simulated:
                simulated(in: &section, stream: stream, columns: columns).map { .simulated($0) }
            case .csv: csv(in: &section, speed: true).map { .csv($0) }
            case .backfill:
                backfill(in: &section, stream: stream, columns: columns).map { .backfill($0) }
            }
        var elsewhere: [String: String] = [:]
        for other in Kind.allCases where other != kind {
            for setting in other.settings {
                elsewhere[setting] = "is a setting of \(other.rawValue), not of \(kind.rawValue)"
            }
        }
        finish(section, as: "streams.source", elsewhere: elsewhere)
        return problems.problems.count == before ? source : nil
    }

    private func simulated(
        in section: inout Section,
        stream: String?,
        columns: [AgentConfig.Column]?
    ) -> AgentConfig.Simulated? {
        let signal = signal(in: &section, stream: stream)
        let seed = section.integer("seed", in: 0...UInt64.max)
        guard let signal else { return nil }
        for column in columns ?? [] where !signal.columns.contains(column) {
            let has = signal.columns.map { "\($0.name) (\($0.type.rawValue))" }
            problems.add(
                "\(signal.rawValue) has no column \(column.name) of type \(column.type.rawValue);"
                    + " it has \(has.joined(separator: ", "))",
                key: section.path,
                line: section.line
            )
        }
        return AgentConfig.Simulated(signal: signal, seed: seed ?? 1)
    }

    private func signal(in section: inout Section, stream: String?) -> AgentConfig.Signal? {
        if let node = section.node("signal") {
            return section.choice(node, key: section.key("signal"), AgentConfig.Signal.self)
        }
        // Without a good name, that is the problem to tell.
        guard let stream else { return nil }
        if let meant = AgentConfig.Signal(rawValue: stream) { return meant }
        let words = AgentConfig.Signal.allCases.map(\.rawValue).joined(separator: ", ")
        problems.add(
            "is required where the stream is not named after one: \(words)",
            key: section.key("signal"),
            line: section.line
        )
        return nil
    }

    private func csv(
        in section: inout Section,
        speed hasSpeed: Bool
    ) -> AgentConfig.CSV? {
        let file = section.absolutePath("file", required: true)
        let timeColumn = section.text("time-column")
        let speed = hasSpeed ? section.speed("speed") ?? speed : 1
        guard namesColumns else {
            problems.add(
                "the stream must name its columns, as the recording's header does",
                key: section.path,
                line: section.line
            )
            return nil
        }
        guard let file else { return nil }
        var csv = AgentConfig.CSV(file: file.value, speed: speed)
        if let timeColumn { csv.timeColumn = timeColumn.value }
        return csv
    }

    /// A recording where it names a file, else a strap.
    private mutating func backfill(
        in section: inout Section,
        stream: String?,
        columns: [AgentConfig.Column]?
    ) -> AgentConfig.Backfill? {
        let bank: AgentConfig.Backfill.Bank?
        let isRecording = section.has("file")
        var history: Duration?
        var capacity: Duration?
        if isRecording {
            bank = csv(in: &section, speed: false).map { .csv($0) }
            refuse(["signal", "seed", "history", "capacity"], in: &section, why: "a recording")
        } else {
            bank = simulated(in: &section, stream: stream, columns: columns).map { .simulated($0) }
            refuse(["time-column"], in: &section, why: "a strap; a recording has a file")
            let year: Duration = .seconds(366 * 86_400)
            history = section.duration("history", in: .zero...year)
            capacity = section.duration("capacity", in: .seconds(60)...year)
        }
        let speed = section.speed("speed", from: 1)
        let batchRows = section.integer("batch-rows", in: 1...100_000)
        guard let bank else { return nil }
        var backfill = AgentConfig.Backfill(of: bank)
        if let history { backfill.history = history }
        if let capacity { backfill.capacity = capacity }
        if let speed { backfill.speed = speed }
        if let batchRows { backfill.batchRows = batchRows }
        return backfill
    }

    private func refuse(_ names: [String], in section: inout Section, why: String) {
        for name in names {
            guard let line = section.line(of: name) else { continue }
            _ = section.node(name)
            problems.add("is not a setting of \(why)", key: section.key(name), line: line)
        }
    }
}

extension AgentConfig.Source {
    /// What is simulated; `nil` for a recording.
    var signal: AgentConfig.Signal? {
        switch self {
        case .simulated(let source): source.signal
        case .backfill(let source):
            if case .simulated(let strap) = source.bank { strap.signal } else { nil }
        case .csv: nil
        }
    }
}
