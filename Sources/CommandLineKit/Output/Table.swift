/// A table of plain text: columns aligned, two spaces apart, no lines.
public struct Table: Sendable {
    public enum Alignment: Sendable {
        case left, right
    }

    public struct Column: Sendable {
        public let title: String
        public let alignment: Alignment

        public init(_ title: String, _ alignment: Alignment = .left) {
            self.title = title
            self.alignment = alignment
        }
    }

    private let columns: [Column]
    private var rows: [[String]] = []

    public init(_ columns: [Column]) {
        precondition(!columns.isEmpty, "a table without columns")
        self.columns = columns
    }

    /// Adds a row; control characters in it are shown, not obeyed.
    public mutating func add(_ cells: [String]) {
        precondition(cells.count == columns.count, "a row of another width")
        rows.append(cells.map(Printable.text))
    }

    /// The table with a newline after each row; only the titles when there are no rows.
    public var text: String {
        let all = [columns.map(\.title)] + rows
        let widths = columns.indices.map { index in all.map { $0[index].count }.max() ?? 0 }
        return all.map { row in
            var line = ""
            for (index, cell) in row.enumerated() {
                let padding = String(repeating: " ", count: widths[index] - cell.count)
                line += index == 0 ? "" : "  "
                line += columns[index].alignment == .left ? cell + padding : padding + cell
            }
            while line.last == " " { line.removeLast() }
            return line + "\n"
        }.joined()
    }
}
