/// Reads one line of `journalctl --output json`: a flat object of strings.
package enum JournalLine {
    /// The fields as a line of logfmt has them; `nil` for what is no record of ours.
    package static func fields(of line: String) -> [String: String]? {
        guard let object = object(line), let kind = object["DORMOUSE_KIND"] else { return nil }
        var fields = ["kind": kind, "msg": object["MESSAGE"] ?? ""]
        let levels = [
            "emergency", "alert", "critical", "error", "warning", "notice", "info", "debug",
        ]
        if let level = object["PRIORITY"].flatMap({ Int($0) }), levels.indices.contains(level) {
            fields["level"] = levels[level]
        }
        for (key, value) in object where key.hasPrefix("DORMOUSE_") {
            fields[String(key.dropFirst("DORMOUSE_".count)).lowercased()] = value
        }
        return fields
    }

    /// Members whose value is a string; others, such as bytes that are no text, are left out.
    static func object(_ line: String) -> [String: String]? {
        var rest = Substring(line)
        guard rest.popFirst() == "{" else { return nil }
        var object: [String: String] = [:]
        while true {
            skipSpace(&rest)
            guard let first = rest.first else { return nil }
            if first == "}" { return object }
            if first == "," {
                rest.removeFirst()
                continue
            }
            guard let key = string(&rest) else { return nil }
            skipSpace(&rest)
            guard rest.popFirst() == ":" else { return nil }
            skipSpace(&rest)
            if rest.first == "\"" {
                guard let value = string(&rest) else { return nil }
                object[key] = value
            } else {
                skipValue(&rest)
            }
        }
    }

    private static func skipSpace(_ rest: inout Substring) {
        rest = rest.drop { $0 == " " || $0 == "\t" }
    }

    /// A number, a word, or a list without strings.
    private static func skipValue(_ rest: inout Substring) {
        var depth = 0
        while let character = rest.first {
            if depth == 0, character == "," || character == "}" { return }
            if character == "[" { depth += 1 }
            if character == "]" { depth -= 1 }
            rest.removeFirst()
        }
    }

    private static func string(_ rest: inout Substring) -> String? {
        guard rest.popFirst() == "\"" else { return nil }
        var units: [UInt16] = []
        while let character = rest.popFirst() {
            if character == "\"" { return String(decoding: units, as: UTF16.self) }
            guard character == "\\" else {
                units += character.utf16
                continue
            }
            switch rest.popFirst() {
            case "n": units.append(0x0A)
            case "r": units.append(0x0D)
            case "t": units.append(0x09)
            case "b": units.append(0x08)
            case "f": units.append(0x0C)
            case "u":
                guard let unit = UInt16(rest.prefix(4), radix: 16) else { return nil }
                units.append(unit)
                rest = rest.dropFirst(4)
            case let other?: units += other.utf16
            case nil: return nil
            }
        }
        return nil
    }
}
