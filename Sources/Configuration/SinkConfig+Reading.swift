internal import Wire

extension SinkConfig: ConfigurationDocument {
    /// Every key there is, as `group.key`; `databases` stands for each of its items.
    package static var knownPaths: [String] { Schema.sink.paths }

    public static func parse(
        _ bytes: [UInt8],
        file: String,
        asked: inout Set<String>
    ) throws(ConfigurationError) -> SinkConfig {
        try ConfigurationFile.parse(bytes, file: file) { root, problems in
            var reader = SinkReader(problems: problems)
            defer { asked = reader.asked }
            return reader.read(root)
        }
    }
}

/// Walks the document once, section by section.
struct SinkReader {
    static let databaseLimit = 10_000

    let problems: ProblemList
    private(set) var asked: Set<String> = []

    init(problems: ProblemList) {
        self.problems = problems
    }

    /// - Returns: `nil` when a required setting is missing or wrong; that has been reported.
    mutating func read(_ root: YAMLNode) -> SinkConfig? {
        guard var top = Section(root, path: "", schema: .sink, problems: problems) else {
            return nil
        }
        let data = top.absoluteDirectory("data", required: true)
        // The real value, or any: the rest is read in either case, to report all at once.
        var config = SinkConfig(data: data?.value ?? "")
        if let address = listen(in: &top) { config.listen = address }
        if var section = top.section("tls") {
            let certificate = section.absolutePath("certificate", required: true)
            let key = section.absolutePath("key", required: true)
            if let certificate, let key {
                config.tls = SinkConfig.TLS(certificate: certificate.value, key: key.value)
            }
            finish(section)
        }
        if var section = top.section("tokens") {
            config.tokens.readWrite = section.tokenSource("read-write")
            config.tokens.readOnly = section.tokenSource("read-only")
            if let same = config.tokens.readWrite, same == config.tokens.readOnly {
                let why = "both tokens are \(same): one that may write cannot be read-only"
                problems.add(why, key: "tokens", line: section.line)
            }
            finish(section)
        }
        requireToken(config, top)
        limits(in: &top, &config.limits)
        if var section = top.section("lease") {
            let range: ClosedRange<Duration> = .seconds(60)...(.seconds(365 * 86_400))
            if let value = section.duration("ttl", in: range) { config.lease.ttl = value }
            finish(section)
        }
        if var section = top.section("disk") {
            if let value = section.reserve("reserve") { config.disk.reserve = value }
            finish(section)
        }
        if var section = top.section("freshness") {
            config.freshness.query = section.text("query")?.value
            finish(section)
        }
        if let node = top.node("databases") { config.databases = databases(node) }
        if var section = top.section("log") {
            if let value = section.choice("level", AgentConfig.LogLevel.self) {
                config.log.level = value
            }
            if let value = section.choice("format", AgentConfig.LogFormat.self) {
                config.log.format = value
            }
            finish(section)
        }
        finish(top)
        return data == nil ? nil : config
    }

    /// Whoever can reach a sink without a token can delete what it holds.
    private func requireToken(_ config: SinkConfig, _ top: Section) {
        guard !config.listen.isLoopback, config.tokens.isOpen else { return }
        // A token that is named wrongly has been told already.
        guard problems.problems.allSatisfy({ !$0.key.hasPrefix("tokens") }) else { return }
        let key = top.has("tokens") ? "tokens" : "listen"
        problems.add(
            "\(config.listen) can be reached from other machines: name a token under \"tokens\"",
            key: key,
            line: top.line(of: key)
        )
    }

    private mutating func finish(_ section: Section, as path: String? = nil) {
        section.finish()
        asked.formUnion(section.known.map { Section.join(path ?? section.path, $0) })
    }

    private func listen(in top: inout Section) -> ListenAddress? {
        guard let text = top.text("listen") else { return nil }
        do {
            return try ListenAddress(parsing: text.value)
        } catch {
            problems.add("\"\(text.excerpt)\" \(error)", key: "listen", line: text.line)
            return nil
        }
    }

    private mutating func limits(in top: inout Section, _ limits: inout SinkConfig.Limits) {
        guard var section = top.section("limits") else { return }
        if let value = section.size("upload", in: 1 << 20...1 << 50) { limits.upload = value }
        if let value = section.integer("uploads", in: 0...1_000) { limits.uploads = value }
        if let value = section.integer("connections", in: 8...100_000) {
            limits.connections = value
        }
        let hour: Duration = .seconds(3_600)
        if let value = section.duration("idle-timeout", in: .seconds(1)...hour) {
            limits.idleTimeout = value
        }
        if let value = section.duration("body-timeout", in: .seconds(1)...hour) {
            limits.bodyTimeout = value
        }
        finish(section)
    }

    private mutating func databases(_ node: YAMLNode) -> [SinkConfig.Database] {
        guard case .sequence(let items) = node.content else {
            if case .refused = node.content { return [] }
            problems.add("must be a list, not \(node.kind)", key: "databases", line: node.line)
            return []
        }
        guard items.count <= Self.databaseLimit else {
            let why = "has \(items.count) databases: \(Self.databaseLimit) are the most"
            problems.add(why, key: "databases", line: node.line)
            return []
        }
        var lines: [DatabaseName: Int] = [:]
        var databases: [SinkConfig.Database] = []
        for (index, item) in items.enumerated() {
            let path = "databases[\(index)]"
            guard var section = Section(item, path: path, schema: .sink, problems: problems) else {
                continue
            }
            let name = name(in: &section, taken: &lines)
            var query: String?
            if var freshness = section.section("freshness") {
                query = freshness.text("query", required: true)?.value
                finish(freshness, as: "databases.freshness")
            }
            finish(section, as: "databases")
            if let name { databases.append(SinkConfig.Database(name: name, newestSample: query)) }
        }
        return databases
    }

    private func name(
        in section: inout Section,
        taken: inout [DatabaseName: Int]
    ) -> DatabaseName? {
        guard let text = section.text("name", required: true) else { return nil }
        guard let name = DatabaseName(text.value) else {
            problems.add(
                "\"\(text.excerpt)\" must be 1 to 64 of A-Z a-z 0-9 _ -",
                key: section.key("name"),
                line: text.line
            )
            return nil
        }
        if let line = taken[name] {
            problems.add(
                "\"\(name)\" is the name of the database on line \(line) already",
                key: section.key("name"),
                line: text.line
            )
            return nil
        }
        taken[name] = text.line
        return name
    }
}
