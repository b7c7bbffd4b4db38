/// A JSON value whose objects keep the order of their keys.
public indirect enum JSONValue: Hashable, Sendable {
    public struct Member: Hashable, Sendable {
        public var key: String
        public var value: JSONValue

        public init(_ key: String, _ value: JSONValue) {
            self.key = key
            self.value = value
        }
    }

    case object([Member])
    case array([JSONValue])
    case string(String)
    case integer(Int64)
    case unsigned(UInt64)
    case double(Double)
    case bool(Bool)
    case null

    /// A whole number of any type that fits 64 bits.
    public static func number(_ value: some BinaryInteger) -> JSONValue {
        Int64(exactly: value).map { .integer($0) } ?? .unsigned(UInt64(clamping: value))
    }

    /// The value, or `null` without one.
    public static func optional<Value>(
        _ value: Value?,
        _ make: (Value) -> JSONValue
    ) -> JSONValue {
        value.map(make) ?? .null
    }

    /// The text of the value (RFC 8259), on one line, without a newline at its end.
    public var line: String {
        var text = ""
        write(to: &text, margin: nil)
        return text
    }

    /// The same with a line for each member and item, two spaces a level.
    public var pretty: String {
        var text = ""
        write(to: &text, margin: "\n")
        return text
    }

    private func write(to text: inout String, margin: String?) {
        switch self {
        case .object(let members):
            Self.write(members, between: "{", "}", to: &text, margin: margin) {
                member,
                text,
                margin in
                Self.write(member.key, to: &text)
                text += margin == nil ? ":" : ": "
                member.value.write(to: &text, margin: margin)
            }
        case .array(let items):
            Self.write(items, between: "[", "]", to: &text, margin: margin) {
                item,
                text,
                margin in
                item.write(to: &text, margin: margin)
            }
        case .string(let string): Self.write(string, to: &text)
        case .integer(let value): text += String(value)
        case .unsigned(let value): text += String(value)
        // JSON has no word for what is not a number, nor for infinity.
        case .double(let value): text += value.isFinite ? value.description : "null"
        case .bool(let value): text += String(value)
        case .null: text += "null"
        }
    }

    private static func write<Item>(
        _ items: [Item],
        between open: String,
        _ close: String,
        to text: inout String,
        margin: String?,
        _ write: (Item, inout String, String?) -> Void
    ) {
        text += open
        let inner = margin.map { $0 + "  " }
        for (index, item) in items.enumerated() {
            if index > 0 { text += "," }
            text += inner ?? ""
            write(item, &text, inner)
        }
        text += items.isEmpty ? close : (margin ?? "") + close
    }

    private static func write(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            // Controls must be escaped; DEL, C1 and the line separators are, for terminals' sake.
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    public init(nilLiteral: ()) { self = .null }

    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }
}
