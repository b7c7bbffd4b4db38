internal import Wire

extension SinkConfig {
    /// Every setting as it is in force, in the order of `config/sink.yml`.
    public var settings: [ConfigurationValue.Setting] {
        var settings: [ConfigurationValue.Setting] = [
            .init("data", .text(data)),
            .init("listen", .text(listen.description)),
        ]
        if let tls {
            let files: [ConfigurationValue.Setting] = [
                .init("certificate", .text(tls.certificate)), .init("key", .text(tls.key)),
            ]
            settings.append(.init("tls", .group(files)))
        }
        let tokens =
            (self.tokens.readWrite?.settings("read-write") ?? [])
            + (self.tokens.readOnly?.settings("read-only") ?? [])
        if !tokens.isEmpty { settings.append(.init("tokens", .group(tokens))) }
        settings += [
            .init(
                "limits",
                .group([
                    .init("upload", .text(ByteSize.text(limits.upload))),
                    .init("uploads", .integer(limits.uploads)),
                    .init("connections", .integer(limits.connections)),
                    .init("idle-timeout", .text(DurationText.text(limits.idleTimeout))),
                    .init("body-timeout", .text(DurationText.text(limits.bodyTimeout))),
                ])
            ),
            .init("lease", .group([.init("ttl", .text(DurationText.text(lease.ttl)))])),
            .init("disk", .group([.init("reserve", .text(disk.reserve.description))])),
        ]
        if let query = freshness.query {
            settings.append(.init("freshness", .group([.init("query", .text(query))])))
        }
        if !databases.isEmpty {
            settings.append(.init("databases", .list(databases.map(\.settings))))
        }
        settings.append(
            .init(
                "log",
                .group([
                    .init("level", .text(log.level.rawValue)),
                    .init("format", .text(log.format.rawValue)),
                ])
            )
        )
        return settings
    }

    /// The configuration in force as YAML that reads back to the same.
    public var yaml: String { ConfigurationValue.yaml(of: settings) }
}

extension SinkConfig.Database {
    fileprivate var settings: ConfigurationValue {
        var settings: [ConfigurationValue.Setting] = [.init("name", .text(name.description))]
        if let newestSample {
            settings.append(.init("freshness", .group([.init("query", .text(newestSample))])))
        }
        return .group(settings)
    }
}
