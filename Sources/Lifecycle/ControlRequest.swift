/// What can be asked over a control socket: one line of plain words.
public enum ControlRequest: Hashable, Sendable {
    case status
    case push
    case checkpoint
    case foreground
    case background
    /// More time in the background.
    case extend
    case lowPower(Bool)
    case metered(Bool)
    case reload

    /// A line that asks for nothing known.
    public struct Unknown: Error, Hashable, Sendable, CustomStringConvertible {
        public var line: String

        public var description: String {
            "\"\(line)\" is no request: use one of " + ControlRequest.all.joined(separator: ", ")
        }
    }

    /// Every request there is, as it is written.
    public static let all = [
        "status", "push", "checkpoint", "foreground", "background", "extend", "low-power on|off",
        "metered on|off", "reload",
    ]

    /// Reads the words of a line.
    public init(_ line: some StringProtocol) throws(Unknown) {
        let words = line.split { $0.isWhitespace }.map { String($0) }
        switch words {
        case ["status"]: self = .status
        case ["push"]: self = .push
        case ["checkpoint"]: self = .checkpoint
        case ["foreground"]: self = .foreground
        case ["background"]: self = .background
        case ["extend"]: self = .extend
        case ["low-power", "on"]: self = .lowPower(true)
        case ["low-power", "off"]: self = .lowPower(false)
        case ["metered", "on"]: self = .metered(true)
        case ["metered", "off"]: self = .metered(false)
        case ["reload"]: self = .reload
        default: throw Unknown(line: Self.excerpt(line))
        }
    }

    /// The request as a line, without its end.
    public var line: String {
        switch self {
        case .status: "status"
        case .push: "push"
        case .checkpoint: "checkpoint"
        case .foreground: "foreground"
        case .background: "background"
        case .extend: "extend"
        case .lowPower(let isOn): "low-power \(isOn ? "on" : "off")"
        case .metered(let isOn): "metered \(isOn ? "on" : "off")"
        case .reload: "reload"
        }
    }

    private static func excerpt(_ line: some StringProtocol) -> String {
        let scalars = line.unicodeScalars.prefix(40).map { $0.value < 0x20 ? "?" : $0 }
        return String(String.UnicodeScalarView(scalars))
    }
}
