/// A bucket URL taken apart: `scheme://authority/path?query`.
struct AddressText {
    private let shown: String
    private let scheme: String
    private let authority: String
    /// Starts with a slash unless it is empty.
    private let path: String
    private let query: String?

    /// The lower-case scheme in front of `:`, or `nil` for a plain path.
    ///
    /// `file:x` counts as a URL, so that a forgotten slash is an error and no directory of that
    /// name; `a:b` is a path.
    static func scheme(of text: String) -> String? {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let scheme = text[..<colon].lowercased()
        guard let first = scheme.utf8.first, isLetter(first),
            scheme.utf8.allSatisfy({ isLetter($0) || isDigit($0) || "+-.".utf8.contains($0) })
        else { return nil }
        let known = ["file", "http", "https", "s3"].contains(scheme)
        return known || text[colon...].hasPrefix("://") ? scheme : nil
    }

    /// The text without what may be secret: user, password, query, fragment.
    static func redacted(_ text: String) -> String {
        var shown = text[...]
        if let cut = shown.firstIndex(where: { $0 == "?" || $0 == "#" }) {
            shown = shown[..<cut]
        }
        if let at = shown.lastIndex(of: "@"), let scheme = scheme(of: text) {
            return "\(scheme)://…\(shown[at...])"
        }
        return String(shown.filter { !$0.isNewline && $0 != "\0" })
    }

    static func trimmingSlashes(_ path: String) -> String {
        var path = path[...]
        while path.utf8.count > 1 && path.hasSuffix("/") { path = path.dropLast() }
        return String(path)
    }

    init(scheme: String, _ text: String) throws(BucketError) {
        self.scheme = scheme
        shown = Self.redacted(text)
        let prefix = scheme.utf8.count + 3
        guard text.dropFirst(scheme.count).hasPrefix("://") else {
            throw .badAddress(text: shown, why: "\(scheme): must be followed by //")
        }
        var rest = text.dropFirst(prefix)
        guard !rest.contains("#") else {
            throw .badAddress(text: shown, why: "a fragment (#…) has no meaning here")
        }
        if let mark = rest.firstIndex(of: "?") {
            query = String(rest[rest.index(after: mark)...])
            rest = rest[..<mark]
        } else {
            query = nil
        }
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        authority = String(rest[..<slash])
        path = String(rest[slash...])
        guard !authority.contains("@") else {
            throw .badAddress(
                text: shown,
                why: "a user or password in an address shows in process lists and logs; "
                    + "leave it out and configure a token file"
            )
        }
    }

    func error(_ why: String) -> BucketError {
        .badAddress(text: shown, why: why)
    }

    /// The path of a `file` URL, percent-decoded.
    func filePath() throws(BucketError) -> String {
        guard authority.isEmpty || authority == "localhost" else {
            throw error("a file is always on this machine: write file:///path (three slashes)")
        }
        guard query == nil else { throw error("a file address has no options (?…)") }
        guard path.hasPrefix("/") else { throw error("no path") }
        return Self.trimmingSlashes(try decoded(path))
    }

    /// The parts of `http(s)://host:port/db/NAME`.
    func httpAddress() throws(BucketError) -> BucketAddress.HTTPAddress {
        guard query == nil else { throw error("a sink's address has no options (?…)") }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1] == "db", Self.isDatabaseName(parts[2]) else {
            throw error(
                "the path must be /db/NAME, NAME being 1 to 64 letters, digits, _ or -"
            )
        }
        let (host, port) = try hostAndPort()
        return BucketAddress.HTTPAddress(
            isSecure: scheme == "https",
            host: host,
            port: port,
            database: String(parts[2])
        )
    }

    /// The parts of `s3://bucket/prefix?endpoint=…&region=…`.
    func s3Address() throws(BucketError) -> BucketAddress.S3Address {
        guard !authority.isEmpty else { throw error("no bucket name") }
        guard !authority.contains(":") else {
            throw error("a port belongs into ?endpoint=, not behind the bucket's name")
        }
        var endpoint: String?
        var region: String?
        for option in (query ?? "").split(separator: "&") {
            let pair = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, !pair[1].isEmpty else {
                throw error("option \(pair[0]) has no value")
            }
            let value = try decoded(String(pair[1]))
            switch pair[0] {
            case "endpoint" where endpoint == nil:
                guard !value.contains("@") else {
                    throw error("endpoint must not hold a user or password")
                }
                endpoint = value
            case "region" where region == nil: region = value
            case "endpoint", "region": throw error("option \(pair[0]) is given twice")
            default: throw error("unknown option \(pair[0]); known are endpoint and region")
            }
        }
        let prefix = try decoded(path).split(separator: "/").joined(separator: "/")
        return BucketAddress.S3Address(
            bucket: authority,
            prefix: prefix,
            endpoint: endpoint,
            region: region
        )
    }

    private func hostAndPort() throws(BucketError) -> (String, UInt16?) {
        var host = authority[...]
        var portText: Substring?
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]") else { throw error("[ without ]") }
            let rest = host[host.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { throw error("host is malformed") }
            portText = rest.isEmpty ? nil : rest.dropFirst()
            host = host[..<end].dropFirst()
        } else if let colon = host.lastIndex(of: ":") {
            portText = host[host.index(after: colon)...]
            host = host[..<colon]
            guard !host.contains(":") else { throw error("an IPv6 address needs [brackets]") }
        }
        guard !host.isEmpty else { throw error("no host") }
        guard let portText else { return (String(host), nil) }
        guard portText.utf8.allSatisfy(Self.isDigit), let port = UInt16(portText), port > 0 else {
            throw error("port must be 1 to 65535")
        }
        return (String(host), port)
    }

    private func decoded(_ text: String) throws(BucketError) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Self.hexValue),
                let low = rest.popFirst().flatMap(Self.hexValue), high != 0 || low != 0
            else { throw error("% must be followed by two hexadecimal digits, not 00") }
            bytes.append(high << 4 | low)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw error("percent-encoding is not UTF-8")
        }
        return text
    }

    private static func isDatabaseName(_ name: Substring) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { isLetter($0) || isDigit($0) || "_-".utf8.contains($0) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        if isDigit(byte) { return byte - UInt8(ascii: "0") }
        let lower = byte | 0x20
        guard (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(lower) else { return nil }
        return lower - UInt8(ascii: "a") + 10
    }
}
