/// A file of either kind, told apart by its settings.
public enum AnyConfig: Hashable, Sendable {
    case agent(AgentConfig)
    case sink(SinkConfig)

    /// Reads and checks a file of either kind.
    ///
    /// A file is the kind whose settings it has more of at its top level, and an agent's when
    /// nothing tells.
    ///
    /// - Throws: `ConfigurationError` with everything that is wrong, in the order of the lines.
    public static func load(path: String) throws(ConfigurationError) -> AnyConfig {
        try parse(ConfigurationFile.read(path), file: path)
    }

    public static func parse(
        _ bytes: [UInt8],
        file: String
    ) throws(ConfigurationError) -> AnyConfig {
        try ConfigurationFile.parse(bytes, file: file) { root, problems in
            guard isSink(root) else {
                var reader = AgentReader(problems: problems)
                return reader.read(root).map { .agent($0) }
            }
            var reader = SinkReader(problems: problems)
            return reader.read(root).map { .sink($0) }
        }
    }

    /// Every setting as it is in force.
    public var settings: [ConfigurationValue.Setting] {
        switch self {
        case .agent(let config): config.settings
        case .sink(let config): config.settings
        }
    }

    /// The configuration in force as YAML that reads back to the same.
    public var yaml: String {
        switch self {
        case .agent(let config): config.yaml
        case .sink(let config): config.yaml
        }
    }

    private static func isSink(_ root: YAMLNode) -> Bool {
        guard case .mapping(let entries) = root.content else { return false }
        func count(_ schema: Schema) -> Int {
            entries.count { entry in schema.paths.contains(entry.key) }
        }
        return count(.sink) > count(.agent)
    }
}
