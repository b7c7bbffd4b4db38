/// The header fields of a message; names in lower case, values trimmed.
public struct HTTPHeaders: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    private var fields: [Field] = []

    private struct Field: Hashable {
        var name: String
        var value: String
    }

    public init() {}

    public init(dictionaryLiteral fields: (String, String)...) {
        for (name, value) in fields { append(name, value) }
    }

    /// The value of a field, the first if there are several.
    public subscript(name: String) -> String? {
        let name = name.lowercased()
        return fields.first { $0.name == name }?.value
    }

    /// Adds a field behind those that are there.
    public mutating func append(_ name: String, _ value: String) {
        fields.append(Field(name: name.lowercased(), value: value))
    }

    /// Sets a field; `nil` removes it.
    public mutating func set(_ name: String, _ value: String?) {
        let name = name.lowercased()
        fields.removeAll { $0.name == name }
        if let value { append(name, value) }
    }

    /// `name: value`, each.
    public var lines: [String] { fields.map { "\($0.name): \($0.value)" } }

    /// Whether all of it may go into a request as it is: visible ASCII, and blanks in values.
    var isWellFormed: Bool {
        fields.allSatisfy { field in
            !field.name.isEmpty
                && field.name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: ":") }
                && field.value.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7f }
        }
    }
}
