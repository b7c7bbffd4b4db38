/// A file of either kind, told apart by its settings.
///
/// It is the kind whose settings it has more of at its top level, and an agent's when nothing tells.
public enum AnyConfig: Hashable, Sendable, ConfigurationDocument {
    case agent(AgentConfig)
    case sink(SinkConfig)

    public static func parse(
        _ bytes: [UInt8],
        file: String,
        asked: inout Set<String>
    ) throws(ConfigurationError) -> AnyConfig {
        try ConfigurationFile.parse(bytes, file: file) { root, problems in
            guard isSink(root) else {
                var reader = AgentReader(problems: problems)
                defer { asked = reader.asked }
                return reader.read(root).map { .agent($0) }
            }
            var reader = SinkReader(problems: problems)
            defer { asked = reader.asked }
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
