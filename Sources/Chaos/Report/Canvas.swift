/// Writes SVG and HTML elements; everything that is text is escaped.
struct Canvas {
    private(set) var text = ""

    typealias Attributes = [(String, String)]

    mutating func raw(_ markup: String) { text += markup }

    mutating func open(_ name: String, _ attributes: Attributes = []) {
        text += "<\(name)"
        for (key, value) in attributes { text += " \(key)=\"\(Self.escaped(value))\"" }
        text += ">"
    }

    mutating func close(_ name: String) { text += "</\(name)>\n" }

    mutating func element(_ name: String, _ attributes: Attributes = [], _ content: String) {
        open(name, attributes)
        text += Self.escaped(content)
        close(name)
    }

    /// Things that are pointed at together, with what is said about them.
    mutating func group(
        _ title: String,
        class style: String? = nil,
        _ body: (inout Canvas) -> Void
    ) {
        open("g", style.map { [("class", $0)] } ?? [])
        element("title", [], title)
        body(&self)
        close("g")
    }

    mutating func rectangle(
        _ x: Double,
        _ y: Double,
        _ width: Double,
        _ height: Double,
        _ style: String
    ) {
        text += "<rect x=\"\(Self.number(x))\" y=\"\(Self.number(y))\" "
        text += "width=\"\(Self.number(width))\" height=\"\(Self.number(height))\" "
        text += "class=\"\(style)\"/>"
    }

    mutating func line(_ x: Double, _ y: Double, _ toX: Double, _ toY: Double, _ style: String) {
        text += "<line x1=\"\(Self.number(x))\" y1=\"\(Self.number(y))\" "
        text += "x2=\"\(Self.number(toX))\" y2=\"\(Self.number(toY))\" class=\"\(style)\"/>"
    }

    mutating func circle(_ x: Double, _ y: Double, _ radius: Double, _ style: String) {
        text += "<circle cx=\"\(Self.number(x))\" cy=\"\(Self.number(y))\" "
        text += "r=\"\(Self.number(radius))\" class=\"\(style)\"/>"
    }

    mutating func polygon(_ points: [(Double, Double)], _ style: String) {
        text += "<polygon points=\"\(Self.list(points))\" class=\"\(style)\"/>"
    }

    mutating func polyline(_ points: [(Double, Double)], _ style: String) {
        text += "<polyline points=\"\(Self.list(points))\" class=\"\(style)\"/>"
    }

    mutating func label(_ x: Double, _ y: Double, _ content: String, _ style: String) {
        text += "<text x=\"\(Self.number(x))\" y=\"\(Self.number(y))\" class=\"\(style)\">"
        text += Self.escaped(content) + "</text>"
    }

    private static func list(_ points: [(Double, Double)]) -> String {
        points.map { "\(number($0.0)),\(number($0.1))" }.joined(separator: " ")
    }

    /// With one decimal, which is a tenth of a pixel.
    static func number(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        let sign = tenths < 0 ? "-" : ""
        let (whole, rest) = (tenths.magnitude / 10, tenths.magnitude % 10)
        return rest == 0 ? "\(sign)\(whole)" : "\(sign)\(whole).\(rest)"
    }

    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "\n", "\t": escaped.unicodeScalars.append(scalar)
            default:
                // Control characters have no place in a page.
                escaped += scalar.value < 0x20 || scalar.value == 0x7F ? "?" : String(scalar)
            }
        }
        return escaped
    }
}

/// Round steps for an axis of time.
enum Ticks {
    /// The round number of seconds that divides a length into about so many.
    static func step(for length: Double, count: Int) -> Double {
        let steps: [Double] = [
            1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600,
            43_200, 86_400, 172_800, 432_000, 604_800, 1_209_600, 2_592_000,
        ]
        return steps.first { length / $0 <= Double(count) } ?? length / Double(count)
    }

    /// A point of an axis; of one in days, the days alone.
    static func text(_ seconds: Double, step: Double) -> String {
        step >= 86_400 && seconds >= 86_400
            ? "\(Int(seconds / 86_400))d" : TimeText.clock(.seconds(seconds))
    }
}

/// Series with fewer points that look the same.
enum Levels {
    /// The highest of each of so many stretches of time, and what follows it.
    static func thinned(_ levels: [Story.Level], to count: Int, over length: Duration)
        -> [Story.Level]
    {
        guard levels.count > count, length > .zero else { return levels }
        var kept: [Int: Story.Level] = [:]
        for level in levels {
            let slot = Int(level.at / length * Double(count))
            if level.bytes > kept[slot]?.bytes ?? -1 { kept[slot] = level }
        }
        return kept.values.sorted { $0.at < $1.at }
    }
}
