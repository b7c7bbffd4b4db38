internal import Bucket

extension AgentConfig: ConfigurationDocument {
    /// Every key there is, as `group.key`; `streams` stands for each of its items.
    package static var knownPaths: [String] { Schema.agent.paths }

    public static func parse(
        _ bytes: [UInt8],
        file: String,
        asked: inout Set<String>
    ) throws(ConfigurationError) -> AgentConfig {
        try ConfigurationFile.parse(bytes, file: file) { root, problems in
            var reader = AgentReader(problems: problems)
            defer { asked = reader.asked }
            return reader.read(root)
        }
    }

    /// Reads the settings of a group in another file, which chooses the two places itself.
    ///
    /// - Parameters:
    ///   - node: The group.
    ///   - path: Where it is, for messages.
    ///   - problems: Gets what is wrong.
    /// - Returns: The settings with made-up places; `nil` when the group is none.
    package static func group(
        _ node: YAMLNode,
        path: String,
        problems: ProblemList
    ) -> AgentConfig? {
        guard case .mapping(var entries) = node.content else {
            _ = Section(node, path: path, schema: .agent, problems: problems)
            return nil
        }
        for name in ["database", "destination"] {
            if let entry = entries.first(where: { $0.key == name }) {
                let why = "is chosen by whoever runs this"
                problems.add(why, key: Section.join(path, name), line: entry.line)
                return nil
            }
            let place = YAMLNode(
                content: .scalar(YAMLScalar(text: "/\(name)", isPlain: true)),
                line: node.line
            )
            entries.append(YAMLEntry(key: name, line: node.line, value: place))
        }
        var reader = AgentReader(problems: problems)
        return reader.read(YAMLNode(content: .mapping(entries), line: node.line), path: path)
    }
}

/// Walks the document once, section by section.
struct AgentReader {
    let problems: ProblemList
    private(set) var asked: Set<String> = []

    init(problems: ProblemList) {
        self.problems = problems
    }

    /// - Returns: `nil` when a required setting is missing or wrong; that has been reported.
    mutating func read(_ root: YAMLNode, path: String = "") -> AgentConfig? {
        guard var top = Section(root, path: path, schema: .agent, problems: problems) else {
            return nil
        }
        let database = top.absolutePath("database", required: true)
        let destination = destination(in: &top, database: database)
        // The real values, or any: the rest is read in either case, to report all at once.
        var config = AgentConfig(
            database: database?.value ?? "",
            destination: destination ?? .directory("")
        )
        if let device = device(in: &top) { config.device = device }
        if let path = top.absolutePath("control") { config.control = path.value }
        if var section = top.section("http") {
            config.http = http(in: &section)
            finish(section)
            if let destination, case .directory = destination {
                let why = "has no use: \"destination\" is a directory"
                problems.add(why, key: "http", line: top.line(of: "http"))
            }
        }
        if var section = top.section("push") {
            let day: Duration = .seconds(86_400)
            if let value = section.duration("interval", in: .milliseconds(100)...day) {
                config.push.interval = value
            }
            if let value = section.flag("on-start") { config.push.onStart = value }
            if let value = section.choice("on-conflict", AgentConfig.OnConflict.self) {
                config.push.onConflict = value
            }
            finish(section)
        }
        if var section = top.section("checkpoint") {
            if let value = section.integer("pages", in: 1...1_000_000) {
                config.checkpoint.pages = value
            }
            if let value = section.choice("pin", Pin.self) { config.checkpoint.pin = value }
            finish(section)
        }
        if var section = top.section("backlog") {
            let range = Int64(1 << 20)...(1 << 50)
            if let value = section.size("budget", in: range) { config.backlog.budget = value }
            if let value = section.size("limit", in: range) { config.backlog.limit = value }
            if config.backlog.limit < config.backlog.budget {
                let key = section.key("limit")
                problems.add("is below \"budget\"", key: key, line: section.line(of: "limit"))
            }
            finish(section)
        }
        if var section = top.section("transfer") {
            config.transfer = transfer(in: &section, destination: destination)
            finish(section)
        }
        if var section = top.section("collector") {
            let range: ClosedRange<Duration> = .milliseconds(100)...(.seconds(3_600))
            if let value = section.duration("flush-interval", in: range) {
                config.collector.flushInterval = value
            }
            if let value = section.speed("speed") { config.collector.speed = value }
            finish(section)
        }
        if var section = top.section("lifecycle") {
            config.lifecycle = lifecycle(in: &section)
            finish(section)
        }
        if let node = top.node("streams") {
            var reader = StreamReader(problems: problems, speed: config.collector.speed)
            config.streams = reader.read(node)
            asked.formUnion(reader.asked)
        }
        if var section = top.section("log") {
            if let value = section.choice("level", LogLevel.self) { config.log.level = value }
            if let value = section.choice("format", LogFormat.self) { config.log.format = value }
            finish(section)
        }
        finish(top)
        return database == nil || destination == nil ? nil : config
    }

    private typealias Pin = AgentConfig.Pin
    private typealias LogLevel = AgentConfig.LogLevel
    private typealias LogFormat = AgentConfig.LogFormat

    private mutating func finish(_ section: Section) {
        section.finish()
        asked.formUnion(section.known.map { section.key($0) })
    }

    private func destination(in top: inout Section, database: YAMLText?) -> BucketAddress? {
        guard let text = top.text("destination", required: true) else { return nil }
        let address: BucketAddress
        do {
            address = try BucketAddress(parsing: text.value)
            if case .s3 = address { throw BucketError.unsupported(address) }
        } catch {
            problems.add("\(error)", key: "destination", line: text.line)
            return nil
        }
        guard case .directory(let path) = address else { return address }
        guard path.hasPrefix("/") else {
            let why = "must be an absolute path: an agent has no directory of its own"
            problems.add("\"\(text.excerpt)\" \(why)", key: "destination", line: text.line)
            return nil
        }
        guard path != database?.value else {
            problems.add("is the database itself", key: "destination", line: text.line)
            return nil
        }
        return address
    }

    private func http(in section: inout Section) -> AgentConfig.HTTP {
        var http = AgentConfig.HTTP()
        http.token = section.tokenSource("token")
        http.authorities = section.absolutePath("ca-file")?.value
        let certificate = section.absolutePath("client-certificate")
        let key = section.absolutePath("client-key")
        if let certificate, let key {
            http.client = AgentConfig.HTTP.Client(certificate: certificate.value, key: key.value)
        }
        for (one, other) in [
            ("client-certificate", "client-key"), ("client-key", "client-certificate"),
        ] where section.has(one) && !section.has(other) {
            problems.add(
                "needs \"\(other)\" beside it",
                key: section.key(one),
                line: section.line(of: one)
            )
        }
        let (second, hour): (Duration, Duration) = (.seconds(1), .seconds(3_600))
        if let value = section.duration("connect-timeout", in: second...hour) {
            http.connectTimeout = value
        }
        if let value = section.duration("idle-timeout", in: second...hour) {
            http.idleTimeout = value
        }
        if let value = section.duration("request-timeout", in: second...hour * 24) {
            http.requestTimeout = value
        }
        return http
    }

    private func transfer(
        in section: inout Section,
        destination: BucketAddress?
    ) -> AgentConfig.Transfer {
        var transfer = AgentConfig.Transfer()
        let spool = section.absolutePath("spool")
        transfer.spool = spool?.value
        if let spool, case .directory(let bucket)? = destination,
            spool.value == bucket || spool.value.hasPrefix(bucket + "/")
        {
            let why = "lies in \"destination\": what waits must not pass for what is stored"
            problems.add(why, key: section.key("spool"), line: spool.line)
        }
        if let start = section.choice("start", AgentConfig.Transfer.Start.self) {
            transfer.start = start
        }
        if transfer.start == .child, !section.has("spool") {
            problems.add(
                "needs \"spool\" beside it",
                key: section.key("start"),
                line: section.line(of: "start")
            )
        }
        return transfer
    }

    private func lifecycle(in section: inout Section) -> AgentConfig.Lifecycle {
        var lifecycle = AgentConfig.Lifecycle()
        let hour: Duration = .seconds(3_600)
        if let value = section.duration("background-budget", in: .milliseconds(100)...hour) {
            lifecycle.backgroundBudget = value
        }
        if let value = section.duration("extension", in: .zero...hour) {
            lifecycle.extensionTime = value
        }
        if let value = section.integer("extensions", in: 0...1_000) {
            lifecycle.extensions = value
        }
        if let value = section.flag("shared-container") { lifecycle.sharedContainer = value }
        return lifecycle
    }

    private func device(in top: inout Section) -> String? {
        guard let text = top.text("device") else { return nil }
        let isNarrow = text.value.utf8.allSatisfy { byte in
            let character = Character(UnicodeScalar(byte))
            return character.isASCII
                && (character.isLetter || character.isNumber || "._:-".contains(character))
        }
        guard isNarrow, text.value.utf8.count <= 64 else {
            problems.add(
                "\"\(text.excerpt)\" must be 1 to 64 of the letters A-Z, a-z, digits and . _ : -",
                key: "device",
                line: text.line
            )
            return nil
        }
        return text.value
    }
}
