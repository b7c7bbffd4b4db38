public import LTXCodec

/// What a request is about, read from its path and query.
///
/// Paths and query values are never percent-encoded: names, hex and decimal need none.
public enum Route: Hashable, Sendable {
    /// `GET /`
    case health
    /// `GET /metrics`
    case metrics
    /// `/db/{name}…`
    case database(DatabaseName, DatabaseRoute)

    /// Why a path is none of these.
    public enum Refusal: Error, Hashable, Sendable {
        /// 404
        case unknown
        /// 400, with what is wrong.
        case malformed(String)
    }

    /// Reads a request target's path and query.
    ///
    /// - Parameters:
    ///   - path: From the first slash on, without `?`.
    ///   - query: Behind `?`; unknown parameters are ignored.
    /// - Throws: `Refusal`.
    public init(path: String, query: String = "") throws(Refusal) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: true)
        guard path.hasPrefix("/") else { throw .unknown }
        switch parts.first {
        case nil: self = .health
        case "metrics" where parts.count == 1: self = .metrics
        case "db" where parts.count >= 2:
            guard let name = DatabaseName(parts[1]) else {
                throw .malformed("a database's name is 1 to 64 of A-Z a-z 0-9 _ -")
            }
            self = .database(
                name,
                try DatabaseRoute(parts.dropFirst(2), Parameters(query))
            )
        default: throw .unknown
        }
    }
}

/// What a request wants of one database.
public enum DatabaseRoute: Hashable, Sendable {
    /// `/db/{name}`: the version line, and the head in the headers.
    case root
    /// `/ltx/{level}?seek={txid}`
    case level(Int, seek: TXID)
    /// `/ltx/{level}/{file}?offset=N&size=M`; a size of 0 means to the end.
    case file(level: Int, name: LTXFileName, offset: Int64, size: Int64)
    /// `/stream?seek={txid}`
    case stream(seek: TXID)
    /// `/all`
    case all
    /// `/ingest`
    case ingest
    /// `/ledger?txid={txid}`; without a TXID the newest.
    case ledger(TXID?)
    /// `/freshness`
    case freshness
    /// `/uploads/{id}`: an upload resource.
    case upload(UploadID)

    init(_ parts: ArraySlice<Substring>, _ query: Parameters) throws(Route.Refusal) {
        let parts = Array(parts)
        switch (parts.first, parts.count) {
        case (nil, _): self = .root
        case ("ltx", 2):
            self = .level(try Self.level(parts[1]), seek: try query.txid("seek") ?? .zero)
        case ("ltx", 3):
            let level = try Self.level(parts[1])
            guard let name = LTXFileName(String(parts[2])) else {
                throw .malformed(
                    "a file's name is {min}-{max}.ltx, 16 lower-case hex digits each, min <= max"
                )
            }
            self = .file(
                level: level,
                name: name,
                offset: try query.number("offset") ?? 0,
                size: try query.number("size") ?? 0
            )
        case ("stream", 1):
            guard let seek = try query.txid("seek"), seek > .zero else {
                throw .malformed("seek must be a TXID of at least 1")
            }
            self = .stream(seek: seek)
        case ("all", 1): self = .all
        case ("ingest", 1): self = .ingest
        case ("ledger", 1): self = .ledger(try query.txid("txid"))
        case ("freshness", 1): self = .freshness
        case ("uploads", 2):
            guard let id = UploadID(parts[1]) else { throw .unknown }
            self = .upload(id)
        default: throw .unknown
        }
    }

    private static func level(_ text: Substring) throws(Route.Refusal) -> Int {
        guard text.utf8.count == 1, let level = Decimal.number(text) else {
            throw .malformed("a level is one digit, 0 to 9")
        }
        return Int(level)
    }

    /// The path and query below `/db/{name}`.
    public var target: String {
        switch self {
        case .root: ""
        case .level(let level, let seek):
            seek == .zero ? "/ltx/\(level)" : "/ltx/\(level)?seek=\(seek)"
        case .file(let level, let name, 0, 0): "/ltx/\(level)/\(name)"
        case .file(let level, let name, let offset, let size):
            "/ltx/\(level)/\(name)?offset=\(offset)&size=\(size)"
        case .stream(let seek): "/stream?seek=\(seek)"
        case .all: "/all"
        case .ingest: "/ingest"
        case .ledger(nil): "/ledger"
        case .ledger(let txid?): "/ledger?txid=\(txid)"
        case .freshness: "/freshness"
        case .upload(let id): "/uploads/\(id)"
        }
    }
}

/// The id of an upload resource: 32 lower-case hex digits, drawn by the server.
public struct UploadID: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// `nil` for what is no id.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count == 32,
            text.utf8.allSatisfy({ ($0 >= 0x30 && $0 <= 0x39) || ($0 >= 0x61 && $0 <= 0x66) })
        else { return nil }
        description = String(text)
    }

    public init(random generator: inout some RandomNumberGenerator) {
        let digits = String(UInt128.random(in: 0...UInt128.max, using: &generator), radix: 16)
        description = String(repeating: "0", count: 32 - digits.utf8.count) + digits
    }
}

/// Names and values of a query.
struct Parameters {
    private var values: [Substring: Substring] = [:]

    init(_ query: String) {
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { values[parts[0]] = parts[1] }
        }
    }

    func txid(_ name: Substring) throws(Route.Refusal) -> TXID? {
        guard let text = values[name] else { return nil }
        guard let txid = TXID(String(text)) else {
            throw .malformed("\(name) must be a TXID, up to 16 hex digits")
        }
        return txid
    }

    func number(_ name: Substring) throws(Route.Refusal) -> Int64? {
        guard let text = values[name] else { return nil }
        guard let number = Decimal.number(text) else {
            throw .malformed("\(name) must be a number of bytes")
        }
        return number
    }
}
