internal import Bucket

/// A setting's value when a configuration is printed, for YAML here and for JSON elsewhere.
public indirect enum ConfigurationValue: Hashable, Sendable {
    case text(String)
    case integer(Int)
    case unsigned(UInt64)
    case number(Double)
    case flag(Bool)
    case list([ConfigurationValue])
    case group([Setting])

    public struct Setting: Hashable, Sendable {
        public var key: String
        public var value: ConfigurationValue

        init(_ key: String, _ value: ConfigurationValue) {
            self.key = key
            self.value = value
        }
    }
}

extension AgentConfig {
    /// Every setting as it is in force, in the order of `config/agent.yml`.
    public var settings: [ConfigurationValue.Setting] {
        [
            .init("database", .text(database)),
            .init("destination", .text(destination.description)),
            .init("device", .text(device)),
        ] + (control.map { [.init("control", .text($0))] } ?? []) + httpSettings + [
            .init(
                "push",
                .group([
                    .init("interval", .text(DurationText.text(push.interval))),
                    .init("on-start", .flag(push.onStart)),
                    .init("on-conflict", .text(push.onConflict.rawValue)),
                ])
            ),
            .init(
                "checkpoint",
                .group([
                    .init("pages", .integer(checkpoint.pages)),
                    .init("pin", .text(checkpoint.pin.rawValue)),
                ])
            ),
            .init(
                "backlog",
                .group([
                    .init("budget", .text(ByteSize.text(backlog.budget))),
                    .init("limit", .text(ByteSize.text(backlog.limit))),
                ])
            ),
        ] + transferSettings + [
            .init(
                "collector",
                .group([
                    .init("flush-interval", .text(DurationText.text(collector.flushInterval))),
                    .init("speed", .number(collector.speed)),
                ])
            ),
            .init(
                "lifecycle",
                .group([
                    .init(
                        "background-budget",
                        .text(DurationText.text(lifecycle.backgroundBudget))
                    ),
                    .init("extension", .text(DurationText.text(lifecycle.extensionTime))),
                    .init("extensions", .integer(lifecycle.extensions)),
                    .init("shared-container", .flag(lifecycle.sharedContainer)),
                ])
            ),
            .init("streams", .list(streams.map(\.settings))),
            .init(
                "log",
                .group([
                    .init("level", .text(log.level.rawValue)),
                    .init("format", .text(log.format.rawValue)),
                ])
            ),
        ]
    }

    /// The configuration in force as YAML that reads back to the same.
    public var yaml: String { ConfigurationValue.yaml(of: settings) }

    private var transferSettings: [ConfigurationValue.Setting] {
        guard let spool = transfer.spool else { return [] }
        let settings: [ConfigurationValue.Setting] = [
            .init("spool", .text(spool)), .init("start", .text(transfer.start.rawValue)),
        ]
        return [.init("transfer", .group(settings))]
    }

    /// What has no use for a directory is not printed beside one.
    private var httpSettings: [ConfigurationValue.Setting] {
        guard case .http = destination else { return [] }
        var settings = http.token?.settings("token") ?? []
        if let authorities = http.authorities {
            settings.append(.init("ca-file", .text(authorities)))
        }
        if let client = http.client {
            settings.append(.init("client-certificate", .text(client.certificate)))
            settings.append(.init("client-key", .text(client.key)))
        }
        settings += [
            .init("connect-timeout", .text(DurationText.text(http.connectTimeout))),
            .init("idle-timeout", .text(DurationText.text(http.idleTimeout))),
            .init("request-timeout", .text(DurationText.text(http.requestTimeout))),
        ]
        return [.init("http", .group(settings))]
    }
}

extension TokenSource {
    /// The setting that names this source, under its prefix.
    func settings(_ prefix: String) -> [ConfigurationValue.Setting] {
        switch self {
        case .file(let path): [.init("\(prefix)-file", .text(path))]
        case .credential(let name): [.init("\(prefix)-credential", .text(name))]
        }
    }
}

extension AgentConfig.Stream {
    fileprivate var settings: ConfigurationValue {
        .group([
            .init("name", .text(name)),
            .init(
                "columns",
                .list(
                    columns.map {
                        .group([
                            .init("name", .text($0.name)), .init("type", .text($0.type.rawValue)),
                        ])
                    }
                )
            ),
            .init("source", .group(sourceSettings)),
        ])
    }

    private var sourceSettings: [ConfigurationValue.Setting] {
        switch source {
        case .simulated(let strap):
            return [.init("kind", .text("simulated"))] + strap.settings
        case .csv(let recording):
            return [.init("kind", .text("csv"))] + recording.settings + [
                .init("speed", .number(recording.speed))
            ]
        case .backfill(let backfill):
            var settings: [ConfigurationValue.Setting] = [.init("kind", .text("backfill"))]
            switch backfill.bank {
            case .csv(let recording): settings += recording.settings
            case .simulated(let strap):
                settings += strap.settings
                settings += [
                    .init("history", .text(DurationText.text(backfill.history))),
                    .init("capacity", .text(DurationText.text(backfill.capacity))),
                ]
            }
            return settings + [
                .init("speed", .number(backfill.speed)),
                .init("batch-rows", .integer(backfill.batchRows)),
            ]
        }
    }
}

extension AgentConfig.Simulated {
    fileprivate var settings: [ConfigurationValue.Setting] {
        [.init("signal", .text(signal.rawValue)), .init("seed", .unsigned(seed))]
    }
}

extension AgentConfig.CSV {
    fileprivate var settings: [ConfigurationValue.Setting] {
        [.init("file", .text(file)), .init("time-column", .text(timeColumn))]
    }
}

extension ConfigurationValue {
    static func yaml(of settings: [Setting]) -> String {
        lines(of: settings, indent: 0).joined(separator: "\n") + "\n"
    }

    private static func lines(of settings: [Setting], indent: Int) -> [String] {
        let margin = String(repeating: " ", count: indent)
        return settings.flatMap { setting -> [String] in
            switch setting.value {
            case .group(let inner) where !inner.isEmpty:
                return ["\(margin)\(setting.key):"] + lines(of: inner, indent: indent + 2)
            case .list(let items) where items.contains(where: \.isDeep):
                return ["\(margin)\(setting.key):"]
                    + items.flatMap { listItem($0, margin: margin + "  ") }
            default:
                return ["\(margin)\(setting.key): \(setting.value.inline)"]
            }
        }
    }

    private static func listItem(_ item: ConfigurationValue, margin: String) -> [String] {
        guard case .group(let settings) = item, item.isDeep else {
            return ["\(margin)- \(item.inline)"]
        }
        let inner = lines(of: settings, indent: margin.count + 2)
        return ["\(margin)- " + (inner.first ?? "").drop(while: { $0 == " " })] + inner.dropFirst()
    }

    /// Holds groups or lists, so that it is easier to read over several lines.
    private var isDeep: Bool {
        guard case .group(let settings) = self else { return false }
        return settings.contains { setting in
            switch setting.value {
            case .group, .list: true
            default: false
            }
        }
    }

    private var inline: String {
        switch self {
        case .text(let text): Self.quoted(text)
        case .integer(let value): String(value)
        case .unsigned(let value): String(value)
        case .number(let value):
            value == value.rounded() ? String(Int64(value)) : Self.decimal(value)
        case .flag(let value): String(value)
        case .list(let items): "[" + items.map(\.inline).joined(separator: ", ") + "]"
        case .group(let settings):
            settings.isEmpty
                ? "{}"
                : "{ " + settings.map { "\($0.key): \($0.value.inline)" }.joined(separator: ", ")
                    + " }"
        }
    }

    /// Speeds are between 0.001 and 1,000,000, where Swift prints no exponent.
    private static func decimal(_ value: Double) -> String {
        value.description
    }

    /// Plain where no YAML reader could take it for anything else, else in double quotes.
    private static func quoted(_ text: String) -> String {
        let safe = text.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                || "/._-".utf8.contains($0)
        }
        let startsWell = text.utf8.first.map {
            $0 == 0x2F || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
        }
        let words = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"]
        let isDuration = (try? DurationText.parse(text)) != nil
        if isDuration || (safe && startsWell == true && !words.contains(text.lowercased())) {
            return text
        }
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
