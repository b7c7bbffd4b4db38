/// Text from outside, made fit for a terminal.
public enum Printable {
    /// Shows control characters and what else a terminal would obey as `\u{…}`.
    public static func text(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isActive) else { return text }
        return text.unicodeScalars.reduce(into: "") { shown, scalar in
            if isActive(scalar) {
                shown += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                shown.unicodeScalars.append(scalar)
            }
        }
    }

    /// C0 and C1 controls, line separators, and marks that turn the direction of writing.
    private static func isActive(_ scalar: UnicodeScalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
