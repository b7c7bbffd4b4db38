import CommandLineKit
import Configuration
import DurableFiles
import Sink
import Wire

extension SinkConfig {
    /// What a server is told, by this configuration.
    ///
    /// - Throws: `CommandFailure` when a certificate or key cannot be read.
    func options(
        _ tokens: Sink.Tokens,
        report: @escaping @Sendable (SinkEvent) -> Void
    ) throws -> SinkOptions {
        var options = SinkOptions(
            data: data,
            listen: SinkAddress(host: listen.host, port: listen.port)
        )
        options.tls = try certificate()
        options.tokens = tokens
        let reserve: DiskReserve =
            switch disk.reserve {
            case .bytes(let bytes): .bytes(bytes)
            case .share(let share): .share(share)
            }
        options.diskGuard = DiskGuard(reserve: reserve)
        options.maxUpload = limits.upload
        options.maxUploads = limits.uploads
        options.maxConnections = limits.connections
        options.idleTimeout = limits.idleTimeout
        options.bodyTimeout = limits.bodyTimeout
        options.leaseDuration = lease.ttl
        options.newestSampleOfAll = freshness.query
        for database in databases {
            options.newestSample[database.name.description] = database.newestSample
        }
        options.report = report
        return options
    }

    /// Certificate and key, as their files are now.
    ///
    /// - Throws: `CommandFailure` when one cannot be read.
    func certificate() throws -> SinkOptions.TLS? {
        guard let tls else { return nil }
        return SinkOptions.TLS(
            certificate: try Self.pem(tls.certificate, "certificate"),
            key: try Self.pem(tls.key, "key")
        )
    }

    /// The text of a PEM file.
    private static func pem(_ path: String, _ what: String) throws -> String {
        guard let bytes = try DurableFiles.read(path, limit: 1 << 20) else {
            throw CommandFailure("the \(what) \(path) is not there", code: .usage)
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.contains("-----BEGIN ") else {
            throw CommandFailure("the \(what) \(path) is no PEM file", code: .usage)
        }
        return text
    }
}
