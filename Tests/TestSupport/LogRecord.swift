/// One line of logfmt, as programs under test write it.
public struct LogRecord: Sendable {
    public let line: String
    private let fields: [String: String]

    /// Reads a line; one that is no logfmt has no fields.
    public init(_ line: String) {
        self.line = line
        var fields: [String: String] = [:]
        var rest = Substring(line)
        while let equals = rest.firstIndex(of: "=") {
            let key = rest[..<equals].drop { $0 == " " }
            rest = rest[rest.index(after: equals)...]
            var value = ""
            if rest.first == "\"" {
                rest.removeFirst()
                while let character = rest.popFirst(), character != "\"" {
                    value.append(character == "\\" ? rest.popFirst() ?? character : character)
                }
            } else {
                let end = rest.firstIndex(of: " ") ?? rest.endIndex
                value = String(rest[..<end])
                rest = rest[end...]
            }
            fields[String(key)] = value
        }
        self.fields = fields
    }

    public subscript(key: String) -> String? { fields[key] }

    public func number(_ key: String) -> Int { fields[key].flatMap { Int($0) } ?? 0 }

    public var kind: String? { fields["kind"] }
    public var isPush: Bool { kind == "push" }
    /// Rows that were committed by a flush of the collector.
    public var isFlush: Bool {
        kind == "flush" && fields["rows"] != nil && fields["level"] == "debug"
    }
    public var isError: Bool { fields["level"] == "error" }
    public var isSuccess: Bool { fields["outcome"] == "pushed" || fields["outcome"] == "in-sync" }
}
