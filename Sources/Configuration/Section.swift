/// One group of settings while it is read.
///
/// The keys that a section knows are exactly those it is asked for: whatever is left over at
/// `finish` is reported. So a key cannot be accepted and then do nothing.
package struct Section {
    /// Where the section is, such as `push` or `streams[0].source`; empty at the top.
    package let path: String
    package let line: Int
    package let schema: Schema
    package let problems: ProblemList
    private let entries: [String: YAMLEntry]
    private let order: [YAMLEntry]
    package private(set) var known: [String] = []

    /// Reports what is not a mapping, keys that are there twice, and mappings without an end.
    package init?(_ node: YAMLNode, path: String, schema: Schema, problems: ProblemList) {
        guard case .mapping(let all) = node.content else {
            if case .refused = node.content { return nil }
            problems.add(
                "must be a group of settings, not \(node.kind)",
                key: path,
                line: node.line
            )
            return nil
        }
        self.path = path
        self.line = node.line
        self.schema = schema
        self.problems = problems
        var entries: [String: YAMLEntry] = [:]
        var order: [YAMLEntry] = []
        for entry in all {
            if let first = entries[entry.key] {
                problems.add(
                    "set twice: line \(first.line) has it already",
                    key: Self.join(path, YAMLScalar(text: entry.key, isPlain: true).excerpt),
                    line: entry.line
                )
            } else {
                entries[entry.key] = entry
                order.append(entry)
            }
        }
        self.entries = entries
        self.order = order
    }

    package static func join(_ path: String, _ key: String) -> String {
        path.isEmpty ? key : "\(path).\(key)"
    }

    package func key(_ name: String) -> String {
        Self.join(path, name)
    }

    /// The value of a key, and from now on the key is known.
    package mutating func node(_ name: String) -> YAMLNode? {
        known.append(name)
        return entries[name]?.value
    }

    /// Whether a key is there, and where; asking does not make it known.
    package func line(of name: String) -> Int? {
        entries[name]?.line
    }

    package func has(_ name: String) -> Bool {
        entries[name] != nil
    }

    package mutating func required(_ name: String) -> YAMLNode? {
        let node = node(name)
        if node == nil {
            problems.add(
                "is required and not set",
                key: key(name),
                line: path.isEmpty ? nil : line
            )
        }
        return node
    }

    /// The section under a key; without the key there is none, and defaults hold.
    package mutating func section(_ name: String) -> Section? {
        node(name).flatMap { Section($0, path: key(name), schema: schema, problems: problems) }
    }

    /// Reports every key that nobody has asked for.
    package func finish(elsewhere: [String: String] = [:]) {
        for entry in order where !known.contains(entry.key) {
            let name = YAMLScalar(text: entry.key, isPlain: true).excerpt
            problems.add(
                advice(on: entry.key, shown: name, elsewhere: elsewhere),
                key: key(name),
                line: entry.line
            )
        }
    }

    private func advice(on name: String, shown: String, elsewhere: [String: String]) -> String {
        if let why = elsewhere[name] { return why }
        if let why = schema.unsupported[name] { return "is not supported: \(why)" }
        let homes = schema.homes(of: name)
        if !homes.isEmpty {
            let list = homes.map { $0.isEmpty ? "the top level" : "\"\($0)\"" }
            return "is at the wrong level: it belongs "
                + (homes == [""] ? "at the top level" : "under " + list.joined(separator: " or "))
        }
        if let meant = Spelling.nearest(to: name, among: known) {
            return "unknown key: did you mean \"\(meant)\"?"
        }
        let everywhere = schema.paths.compactMap { $0.split(separator: ".").last }
        if let meant = Spelling.nearest(to: name, among: everywhere.map(String.init)) {
            let home = schema.homes(of: meant).first ?? ""
            return "unknown key: did you mean \"\(meant)\" "
                + (home.isEmpty ? "at the top level?" : "under \"\(home)\"?")
        }
        return "unknown key: here can be " + known.joined(separator: ", ")
    }
}
