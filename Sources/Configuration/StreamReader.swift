/// Reads the list under `streams`.
struct StreamReader {
    static let streamLimit = 64
    static let columnLimit = 32

    /// Columns that every stream's table has already.
    static let reserved = ["device_id", "time_ms"]

    let problems: ProblemList
    /// The collector's speed, for sources that do not set their own.
    let speed: Double
    private(set) var asked: Set<String> = []
    /// The stream that is being read names columns, be they right or wrong.
    private(set) var namesColumns = false

    init(problems: ProblemList, speed: Double) {
        self.problems = problems
        self.speed = speed
    }

    /// - Returns: The streams that are as they should be; the others have been reported.
    mutating func read(_ node: YAMLNode) -> [AgentConfig.Stream] {
        guard case .sequence(let items) = node.content else {
            if case .refused = node.content { return [] }
            problems.add("must be a list, not \(node.kind)", key: "streams", line: node.line)
            return []
        }
        guard !items.isEmpty else {
            let why = "is empty: leave the key out to collect from the simulated strap"
            problems.add(why, key: "streams", line: node.line)
            return []
        }
        guard items.count <= Self.streamLimit else {
            let why = "has \(items.count) streams: \(Self.streamLimit) are the most"
            problems.add(why, key: "streams", line: node.line)
            return []
        }
        var lines: [String: Int] = [:]
        var streams: [AgentConfig.Stream] = []
        for (index, item) in items.enumerated() {
            let path = "streams[\(index)]"
            guard var section = Section(item, path: path, schema: .agent, problems: problems) else {
                continue
            }
            let name = name(in: &section, taken: &lines)
            let source = section.required("source")
            let columns = columns(in: &section)
            namesColumns = section.has("columns")
            finish(section, as: "streams")
            guard let source else { continue }
            let kind = self.source(source, path: "\(path).source", stream: name, columns: columns)
            if let name, let kind {
                let columns = columns ?? kind.signal?.columns ?? []
                streams.append(AgentConfig.Stream(name: name, columns: columns, source: kind))
            }
        }
        return streams
    }

    mutating func finish(
        _ section: Section,
        as path: String,
        elsewhere: [String: String] = [:]
    ) {
        section.finish(elsewhere: elsewhere)
        asked.formUnion(section.known.map { "\(path).\($0)" })
    }

    private func name(in section: inout Section, taken: inout [String: Int]) -> String? {
        guard let text = section.text("name", required: true),
            isName(text, key: section.key("name"))
        else { return nil }
        if let line = taken[text.value] {
            problems.add(
                "\"\(text.value)\" is the name of the stream on line \(line) already",
                key: section.key("name"),
                line: text.line
            )
        } else {
            taken[text.value] = text.line
        }
        return text.value
    }

    /// Names become names of tables and columns, so they are narrow.
    private func isName(_ text: YAMLText, key: String) -> Bool {
        let bytes = Array(text.value.utf8)
        let isNarrow =
            (1...63).contains(bytes.count) && (0x61...0x7A).contains(bytes[0])
            && bytes.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F
            }
        guard isNarrow else {
            problems.add(
                "\"\(text.excerpt)\" must be a-z, then up to 62 of a-z, 0-9 and _",
                key: key,
                line: text.line
            )
            return false
        }
        guard !text.value.hasPrefix("sqlite_") else {
            problems.add("\"\(text.excerpt)\" is reserved by SQLite", key: key, line: text.line)
            return false
        }
        return true
    }

    /// - Returns: `nil` when none are named or they are wrong.
    private mutating func columns(in section: inout Section) -> [AgentConfig.Column]? {
        guard let node = section.node("columns") else { return nil }
        let key = section.key("columns")
        guard case .sequence(let items) = node.content else {
            section.wrongType(node, key: key, wanted: "a list of columns")
            return nil
        }
        guard !items.isEmpty else {
            let why = "must be a list of columns with at least one"
            problems.add(why, key: key, line: node.line)
            return nil
        }
        guard items.count <= Self.columnLimit else {
            let why = "has \(items.count) columns: \(Self.columnLimit) are the most"
            problems.add(why, key: key, line: node.line)
            return nil
        }
        var columns: [AgentConfig.Column] = []
        for (index, item) in items.enumerated() {
            let path = "\(key)[\(index)]"
            guard let column = column(item, path: path, in: section) else { continue }
            if columns.contains(where: { $0.name == column.name }) {
                problems.add("\"\(column.name)\" is there twice", key: path, line: item.line)
            } else if Self.reserved.contains(column.name) {
                let why = "\"\(column.name)\" is the name of a column that every stream has"
                problems.add(why, key: path, line: item.line)
            } else {
                columns.append(column)
            }
        }
        return columns.count == items.count ? columns : nil
    }

    /// A column is its name, or a name and a type.
    private mutating func column(
        _ node: YAMLNode,
        path: String,
        in stream: Section
    ) -> AgentConfig.Column? {
        guard case .mapping = node.content else {
            guard let text = stream.text(node, key: path), isName(text, key: path) else {
                return nil
            }
            return AgentConfig.Column(name: text.value)
        }
        guard var section = Section(node, path: path, schema: .agent, problems: problems) else {
            return nil
        }
        let name = section.text("name", required: true)
        let type = section.choice("type", AgentConfig.ColumnType.self)
        finish(section, as: "streams.columns")
        guard let name, isName(name, key: section.key("name")) else { return nil }
        return AgentConfig.Column(name: name.value, type: type ?? .real)
    }
}
