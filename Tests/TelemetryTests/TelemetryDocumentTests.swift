import Foundation
import Telemetry
import TestSupport
import Testing

@Suite("docs/telemetry.md and the code")
struct TelemetryDocumentTests {
    private let page: String

    init() throws {
        page = try String(
            contentsOf: Shared.project.appending(path: "docs/telemetry.md"),
            encoding: .utf8
        )
    }

    @Test("have the same kinds with the same ids")
    func kinds() {
        let rows = page.matches(of: /(?m)^\| `([a-z-]+)` \| `([0-9a-f]{32})` \|/).map {
            "\($0.output.1) \($0.output.2)"
        }
        #expect(rows == RecordKind.allCases.map { "\($0.rawValue) \($0.messageID)" })
    }

    @Test("have the same fields")
    func fields() {
        let section = page.split(separator: "## ").first { $0.hasPrefix("Fields") } ?? ""
        let cells = section.split(separator: "\n").filter { $0.hasPrefix("| `") }
            .compactMap { $0.split(separator: "|").first }
        let names = cells.flatMap { $0.matches(of: /`([A-Z_]+)`/).map { String($0.output.1) } }
        #expect(names.count == Set(names).count)
        #expect(Set(names) == Set(Field.allCases.map(\.rawValue)))
    }
}
