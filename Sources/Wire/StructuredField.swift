/// The three shapes of structured fields (RFC 9651) that resumable uploads use.
///
/// A value of another shape is `nil`: the field counts as not sent.
package enum StructuredField {
    /// `?1` or `?0`.
    package static func boolean(_ text: some StringProtocol) -> Bool? {
        switch bareItem(text) {
        case "?1": true
        case "?0": false
        default: nil
        }
    }

    /// Up to 15 digits; negative numbers have no use here and count as another shape.
    package static func integer(_ text: some StringProtocol) -> Int64? {
        guard let item = bareItem(text), item.utf8.count <= 15 else { return nil }
        return Decimal.number(item)
    }

    /// `key=value, key, key=value;parameter`: the bare items by their keys, the last one wins.
    ///
    /// A key without a value is `?1`.
    static func dictionary(_ text: some StringProtocol) -> [String: String]? {
        var members: [String: String] = [:]
        for member in pieces(of: Substring(text), at: ",") {
            let member = trimmed(member)
            let key = member.prefix(while: isInKey)
            guard let first = key.utf8.first, first == 0x2A || (0x61...0x7A).contains(first) else {
                return nil
            }
            let rest = member.dropFirst(key.count)
            if rest.isEmpty || rest.first == ";" {
                members[String(key)] = "?1"
            } else if rest.first == "=", let item = bareItem(rest.dropFirst()), !item.isEmpty {
                members[String(key)] = String(item)
            } else {
                return nil
            }
        }
        return members
    }

    /// The item without its parameters, which nothing here has a use for.
    private static func bareItem(_ text: some StringProtocol) -> Substring? {
        let text = trimmed(Substring(text))
        let item = pieces(of: text, at: ";").first ?? ""
        let tail = text.dropFirst(item.count)
        guard tail.allSatisfy({ $0.isASCII && !$0.isNewline }) else { return nil }
        return item
    }

    /// Cuts at a separator outside quotes.
    private static func pieces(of text: Substring, at separator: Character) -> [Substring] {
        var isQuoted = false
        var isEscaped = false
        return text.split(omittingEmptySubsequences: false) { character in
            defer { isEscaped = isQuoted && character == "\\" && !isEscaped }
            if character == "\"", !isEscaped { isQuoted.toggle() }
            return !isQuoted && character == separator
        }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text = text.dropLast() }
        return text
    }

    private static func isInKey(_ character: Character) -> Bool {
        guard let byte = character.asciiValue else { return false }
        return (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
            || "_-.*".utf8.contains(byte)
    }
}
