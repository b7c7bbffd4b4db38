import LTXCodec

/// A small file of facts, a line each: a heading with a version, `key value`, and a CRC-64 last.
///
/// Manifests and receipts are such files. What was cut, damaged or written by something else is
/// told apart, and never believed in part.
struct FactsText {
    /// Far above what a manifest with long paths needs.
    static let limit = 64 << 10
    static let version = 1

    private let heading: String
    private var lines: [String] = []

    init(_ heading: String) {
        self.heading = heading
    }

    /// Adds a fact; a value of several lines becomes one, since it could not be read back.
    mutating func add(_ key: String, _ value: String) {
        let line = value.split(whereSeparator: \.isNewline).joined(separator: " ")
        lines.append("\(key) \(line)")
    }

    var text: String {
        let body = (["\(heading) \(Self.version)"] + lines).joined(separator: "\n") + "\n"
        return body + "crc \(Self.crc(body))\n"
    }

    private static func crc(_ text: String) -> Checksum {
        var crc = CRC64()
        var text = text
        text.withUTF8 { crc.update(UnsafeRawBufferPointer($0)) }
        return Checksum(rawValue: crc.value)
    }

    /// Reads such a text.
    ///
    /// - Returns: The values by their keys.
    /// - Throws: `UnusableFacts`.
    static func parse(_ bytes: [UInt8], heading: String) throws(UnusableFacts) -> Facts {
        let text = String(decoding: bytes, as: UTF8.self)
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let first = lines.first?.split(separator: " "), first.first == heading[...] else {
            throw .heading(heading)
        }
        guard first.count == 2, first[1] == "\(version)" else {
            throw .version(first.dropFirst().joined(separator: " "))
        }
        guard lines.count >= 3, lines.removeLast().isEmpty else { throw .checksum }
        let sum = lines.removeLast()
        let body = lines.joined(separator: "\n") + "\n"
        guard sum == "crc \(crc(body))" else { throw .checksum }
        var values: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2,
                values.updateValue(String(parts[1]), forKey: String(parts[0])) == nil
            else { throw .line(String(line.prefix(60))) }
        }
        return Facts(values: values)
    }
}

/// Why a manifest or a receipt cannot be used.
public enum UnusableFacts: Error, Hashable, Sendable, CustomStringConvertible {
    case heading(String)
    case version(String)
    case checksum
    case line(String)
    case missing(String)
    case value(key: String, String)
    case tooLarge
    case notAFile
    case denied
    /// It is one, but not of the name under which it stands.
    case otherName(String)

    public var description: String {
        switch self {
        case .heading(let heading): "it does not begin with \(heading)"
        case .version(let text):
            "it is of version \(text.prefix(20)), this program knows \(FactsText.version)"
        case .checksum: "its checksum does not match: it was cut or changed"
        case .line(let line): "a line is not understood: \(line)"
        case .missing(let key): "it has no line \(key)"
        case .value(let key, let value): "\(key) cannot be \(value.prefix(60))"
        case .tooLarge: "it is far too large"
        case .notAFile: "it is no file"
        case .denied: "it may not be read"
        case .otherName(let name): "it belongs under the name \(name)"
        }
    }
}

/// The values of such a text, each asked for by its key.
struct Facts {
    let values: [String: String]

    func text(_ key: String) throws(UnusableFacts) -> String {
        guard let value = values[key] else { throw .missing(key) }
        return value
    }

    func value<Value>(
        _ key: String,
        _ read: (String) -> Value?
    ) throws(UnusableFacts) -> Value {
        let text = try text(key)
        guard let value = read(text) else { throw .value(key: key, text) }
        return value
    }

    func checksum(_ key: String) throws(UnusableFacts) -> Checksum {
        try value(key) { text in
            text.utf8.count == 16 ? TXID(text).map { Checksum(rawValue: $0.rawValue) } : nil
        }
    }

    /// A word for a header of a request: nothing may end the header early.
    func word(_ key: String) throws(UnusableFacts) -> String {
        try value(key) { text in
            let isWord =
                !text.isEmpty && text.utf8.count <= 200
                && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            return isWord ? text : nil
        }
    }

    /// The same, where `-` stands for nothing.
    func optionalWord(_ key: String) throws(UnusableFacts) -> String? {
        let word = try word(key)
        return word == "-" ? nil : word
    }

    /// `LEVEL NAME SIZE TIMESTAMP`.
    func file() throws(UnusableFacts) -> BucketFileFacts {
        try value("file") { BucketFileFacts($0) }
    }
}
