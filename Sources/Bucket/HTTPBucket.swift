import DurableFiles
public import LTXCodec
import Transfer
import Wire

/// A bucket behind a sink or a liters server (docs/http-protocol.md).
///
/// Copies share one client, and with it connections and the thread they are on. Nothing is
/// connected before the first request.
public struct HTTPBucket: LiveBucket {
    public let address: BucketAddress
    public let options: HTTPBucketOptions
    /// The address, which all of its paths begin with.
    let base: String
    /// Scheme, host and port.
    let origin: String
    let client: HTTPClient
    let knowledge = ServerKnowledge()

    public init(
        _ address: BucketAddress.HTTPAddress,
        options: HTTPBucketOptions = HTTPBucketOptions()
    ) {
        self.address = .http(address)
        self.options = options
        base = "\(self.address)"
        origin = String(base.dropLast("/db/\(address.database)".count))
        client = HTTPClient(options.http)
    }

    public func dropConnections() {
        client.disconnect()
    }

    nonisolated(nonsending) public func list(level: Int) async throws -> [BucketFile] {
        try await list(level: level, from: .zero)
    }

    nonisolated(nonsending) public func head() async throws -> TXID {
        try await condition().head
    }

    nonisolated(nonsending) public func condition() async throws -> LiveCondition {
        let response = try await answer(to: request(.get, .root))
        switch TransferFailure(response, url: base) {
        // A v1 server may have nothing at this place; its listings decide.
        case let failure? where failure.kind == .missing: break
        case let failure?: throw BucketError.transfer(failure)
        case nil:
            if let head = response.headers[WireHeader.txid].flatMap({ TXID($0) }) {
                return LiveCondition(
                    head: head,
                    lineage: response.headers[WireHeader.lineage],
                    headChecksum: response.headers[WireHeader.headChecksum].flatMap {
                        Checksum(hexadecimal: $0)
                    },
                    wantsRebase: response.headers[WireHeader.rebase] == "1"
                )
            }
        }
        let head = try await listAll().map(\.maxTXID).max()
        return LiveCondition(head: head ?? .zero, lineage: nil)
    }

    nonisolated(nonsending) public func stat(
        level: Int,
        name: LTXFileName
    ) async throws -> BucketFile? {
        try await list(level: level, from: name.minTXID).first { $0.name == name }
    }

    nonisolated(nonsending) public func delete(_ files: [BucketFile]) async throws {
        for file in files {
            let request = request(
                .delete,
                .file(level: file.level, name: file.name, offset: 0, size: 0),
                headers: headers(of: WriteFacts())
            )
            do throws(BucketError) {
                _ = try await ask(request)
            } catch {
                if case .transfer(let failure) = error {
                    if failure.kind == .missing { continue }
                    if failure.kind == .conflict {
                        throw BucketError.fenced(reason: failure.detail)
                    }
                }
                throw error
            }
        }
    }
}

extension Checksum {
    /// Reads 16 hexadecimal digits; `nil` for anything else.
    init?(hexadecimal text: String) {
        guard text.utf8.count == 16, let bits = TXID(text)?.rawValue else { return nil }
        self.init(rawValue: bits)
    }
}

/// What was learnt about a server while this process speaks to it.
final class ServerKnowledge: Sendable {
    private let noResumption = Lock(false)

    /// The server has no resumable uploads.
    var lacksResumption: Bool { noResumption.withLock { $0 } }

    func noteNoResumption() {
        noResumption.withLock { $0 = true }
    }
}
