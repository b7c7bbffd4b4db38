import Foundation
import TestSupport
import Testing
import Wire

@Suite("docs/http-protocol.md and the code")
struct ProtocolPageTests {
    private let page: String

    init() throws {
        page = try String(
            contentsOf: Shared.project.appending(path: "docs/http-protocol.md"),
            encoding: .utf8
        )
    }

    @Test("have the same headers")
    func headers() {
        let section = page.split(separator: "\n## ").first { $0.hasPrefix("Headers\n") } ?? ""
        let rows = section.matches(of: /(?m)^\| `([a-z-]+)` \|/).map { String($0.output.1) }
        #expect(rows == WireHeader.all)
        let named = page.matches(of: /`((?:x-liters|dormouse|upload)-[a-z-]+)/).map {
            String($0.output.1)
        }
        #expect(Set(named) == Set(WireHeader.all), "the text names headers of its own")
    }

    @Test("have the same media type, preamble and interop versions")
    func words() {
        #expect(page.contains(WireHeader.partialUpload))
        #expect(page.contains("`\(StreamFrame.preamble.dropLast())`"))
        for dialect in [UploadDialect.oldest, .newest] {
            let version = dialect.interopVersion.map(String.init) ?? ""
            #expect(page.contains("| \(version) | -0"), "no line for interop \(version)")
        }
    }

    @Test("have the same problem types")
    func problems() {
        for problem in [
            UploadProblem.mismatchingOffset(expected: 0, provided: 0), .inconsistentLength,
            .completed,
        ] {
            let name = problem.json.firstMatch(of: /#([a-z-]+)"/).map { String($0.output.1) }
            #expect(page.contains("`\(name ?? "?")`"))
        }
    }
}
