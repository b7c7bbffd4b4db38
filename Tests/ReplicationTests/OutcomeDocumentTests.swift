import Foundation
import Replication
import TestSupport
import Testing

/// docs/outcomes.md is what people read; the enums are what happens.
@Suite("docs/outcomes.md and the code")
struct OutcomeDocumentTests {
    /// A table's title in its head, and the names that its rows must have.
    struct Table: Sendable, CustomTestStringConvertible {
        let head: String
        let section: String
        let names: [String]

        init(_ head: String, in section: String = "", _ names: [String]) {
            self.head = head
            self.section = section
            self.names = names
        }

        var testDescription: String { "\(section) \(head)" }
    }

    static let tables = [
        Table("outcome", ["pushed", "in-sync", "retryable", "unavailable"]),
        Table("reason", in: "Retryable reasons", RetryReason.allCases.map(\.rawValue)),
        Table("reason", in: "Unavailable reasons", UnavailableReason.allCases.map(\.rawValue)),
        Table("`sync_kind`", ["none", "wal", "rescan", "snapshot"]),
        Table("reason of a rescan", LostPlace.allCases.map(\.rawValue)),
        Table("reason of a snapshot", SnapshotReason.allCases.map(\.rawValue)),
        Table("finding", LineageFinding.allCases.map(\.rawValue)),
    ]

    @Test("have the same names, in the same order", arguments: tables)
    func agree(table: Table) throws {
        let page = try String(
            contentsOf: Shared.project.appending(path: "docs/outcomes.md"),
            encoding: .utf8
        )
        var lines = page.split(separator: "\n", omittingEmptySubsequences: false)[...]
        if !table.section.isEmpty { lines = lines.drop { $0 != "## \(table.section)" } }
        let rows = lines.drop { !$0.hasPrefix("| \(table.head) |") }.dropFirst(2)
            .prefix { $0.hasPrefix("| `") }
        let names = rows.compactMap { row in
            row.split(separator: "`", omittingEmptySubsequences: false).dropFirst().first
        }
        #expect(names.map(String.init) == table.names)
    }

    @Test("the page names every proof of a restart")
    func proofs() throws {
        let page = try String(
            contentsOf: Shared.project.appending(path: "docs/outcomes.md"),
            encoding: .utf8
        )
        for proof in RestartProof.allCases { #expect(page.contains("`\(proof.rawValue)`")) }
    }
}
