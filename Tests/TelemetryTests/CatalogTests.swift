import Foundation
import Telemetry
import TestSupport
import Testing

@Suite("systemd/dormouse.catalog")
struct CatalogTests {
    /// An entry: its header lines and its text.
    struct Entry {
        var id: String
        var headers: [String: String] = [:]
        var text = ""
    }

    static func entries() throws -> [Entry] {
        let url = Shared.project.appending(path: "systemd/dormouse.catalog")
        var entries: [Entry] = []
        var inHeaders = false
        for line in try String(contentsOf: url, encoding: .utf8).components(separatedBy: "\n") {
            if line.hasPrefix("#") { continue }
            if line.hasPrefix("-- ") {
                entries.append(Entry(id: String(line.dropFirst(3))))
                inHeaders = true
            } else if line.isEmpty {
                inHeaders = false
            } else if inHeaders, let colon = line.firstIndex(of: ":") {
                let value = line[line.index(after: colon)...].drop { $0 == " " }
                entries[entries.count - 1].headers[String(line[..<colon])] = String(value)
            } else if !entries.isEmpty {
                entries[entries.count - 1].text += line + "\n"
            }
        }
        return entries
    }

    @Test("every kind of record has one entry, and every entry a kind")
    func complete() throws {
        let ids = try Self.entries().map(\.id)
        #expect(ids.sorted() == RecordKind.allCases.map(\.messageID.description).sorted())
        #expect(Set(ids).count == ids.count)
    }

    @Test("every entry has a subject, an origin, and a text that says more than the subject")
    func wellFormed() throws {
        for entry in try Self.entries() {
            #expect(entry.headers["Defined-By"] == "dormouse")
            #expect(!(entry.headers["Subject"] ?? "").isEmpty, "\(entry.id)")
            #expect(entry.text.count > 80, "\(entry.id)")
            #expect(entry.id.wholeMatch(of: /[0-9a-f]{32}/) != nil)
        }
    }

    @Test("every field an entry names is one that records carry")
    func fieldsExist() throws {
        let known = Set(Field.allCases.map(\.journalName))
        for entry in try Self.entries() {
            let text = (entry.headers["Subject"] ?? "") + entry.text
            for match in text.matches(of: /@([A-Z_]+)@/) {
                #expect(known.contains(String(match.1)), "\(entry.id) names \(match.1)")
            }
        }
    }
}
