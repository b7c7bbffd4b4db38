import LTXCodec
import Testing
import Wire

@Suite("Paths of the protocol")
struct RouteTests {
    private static let name = DatabaseName.known("health_1-x")
    private static let file = LTXFileName(minTXID: TXID(1), maxTXID: TXID(12))
    private static let id = UploadID.known("0123456789abcdef0123456789abcdef")

    private static let routes: [(String, String, DatabaseRoute)] = [
        ("", "", .root),
        ("/", "", .root),
        ("/ltx/0", "", .level(0, seek: .zero)),
        ("/ltx/9", "seek=0000000000000010", .level(9, seek: TXID(16))),
        ("/ltx/9", "seek=10&meta=1&other", .level(9, seek: TXID(16))),
        ("//ltx///3/", "seek=0", .level(3, seek: .zero)),
        ("/ltx/0/\(file)", "", .file(level: 0, name: file, offset: 0, size: 0)),
        (
            "/ltx/8/\(file)", "offset=7&size=9223372036854775807",
            .file(level: 8, name: file, offset: 7, size: .max)
        ),
        ("/stream", "seek=1", .stream(seek: TXID(1))),
        ("/stream", "seek=ffffffffffffffff", .stream(seek: TXID(.max))),
        ("/all", "", .all),
        ("/all/", "", .all),
        ("/ingest", "x=y", .ingest),
        ("/ledger", "", .ledger(nil)),
        ("/ledger", "txid=2a", .ledger(TXID(42))),
        ("/freshness", "", .freshness),
        ("/uploads/\(id)", "", .upload(id)),
    ]

    @Test("a path of a database is read", arguments: routes)
    func reads(path: String, query: String, route: DatabaseRoute) throws {
        let read = try Route(path: "/db/health_1-x\(path)", query: query)
        #expect(read == .database(Self.name, route))
    }

    @Test("what a route prints is read as the same route", arguments: routes.map(\.2))
    func printed(route: DatabaseRoute) throws {
        let parts = "/db/health_1-x\(route.target)".split(separator: "?", maxSplits: 1)
        let read = try Route(path: String(parts[0]), query: parts.count > 1 ? String(parts[1]) : "")
        #expect(read == .database(Self.name, route))
    }

    @Test(
        "what belongs to no database is read",
        arguments: [("/", Route.health), ("//", .health), ("/metrics", .metrics)]
    )
    func others(path: String, route: Route) throws {
        #expect(try Route(path: path) == route)
    }

    @Test(
        "a path that is none is unknown",
        arguments: [
            "", "db/x", "/db", "/db/", "/dbs/x", "/metrics/x", "/x", "/db/x/ltx", "/db/x/LTX/0",
            "/db/x/ltx/0/\(file)/y", "/db/x/stream/1", "/db/x/all/y", "/db/x/ingest/y",
            "/db/x/ledger/1", "/db/x/freshness/y", "/db/x/uploads", "/db/x/uploads/abc",
            "/db/x/uploads/0123456789ABCDEF0123456789abcdef", "/db/x/y", "*",
        ]
    )
    func unknown(path: String) {
        #expect(throws: Route.Refusal.unknown) { try Route(path: path) }
    }

    @Test(
        "a path with a part that is none is malformed",
        arguments: [
            ("/db/a.b", ""), ("/db/..", ""), ("/db/a%2fb", ""), ("/db/é", ""),
            ("/db/x/ltx/10", ""), ("/db/x/ltx/-1", ""), ("/db/x/ltx/a", ""), ("/db/x/ltx/٣", ""),
            ("/db/x/ltx/0", "seek="), ("/db/x/ltx/0", "seek=g"),
            ("/db/x/ltx/0", "seek=00000000000000001"), ("/db/x/ltx/0", "seek=-1"),
            ("/db/x/ltx/0/1-2.ltx", ""), ("/db/x/ltx/0/..", ""),
            ("/db/x/ltx/0/0000000000000002-0000000000000001.ltx", ""),
            ("/db/x/ltx/0/0000000000000000-0000000000000001.ltx", ""),
            ("/db/x/ltx/0/000000000000000A-000000000000000B.ltx", ""),
            ("/db/x/ltx/0/\(file)", "offset=-1"), ("/db/x/ltx/0/\(file)", "offset=0x1"),
            ("/db/x/ltx/0/\(file)", "size=9223372036854775808"),
            ("/db/x/ltx/0/\(file)", "size=+1"), ("/db/x/ltx/0/\(file)", "size= 1"),
            ("/db/x/stream", ""), ("/db/x/stream", "seek=0"), ("/db/x/stream", "seek"),
            ("/db/x/ledger", "txid=x"),
        ]
    )
    func malformed(path: String, query: String) {
        let error = #expect(throws: Route.Refusal.self) { try Route(path: path, query: query) }
        guard case .malformed(let why)? = error else {
            Issue.record("\(path) is \(String(describing: error))")
            return
        }
        #expect(!why.isEmpty && !why.contains("\n"))
    }
}

@Suite("Names in the protocol")
struct NameTests {
    @Test(
        "a database's name is letters, digits, _ and -, up to 64",
        arguments: [
            ("a", true), ("Z9_-", true), (String(repeating: "x", count: 64), true), ("-", true),
            ("", false), (String(repeating: "x", count: 65), false), (".", false), ("..", false),
            ("a/b", false), ("a b", false), ("a\0", false), ("ä", false), ("a\n", false),
            ("٣", false), ("a.b", false), ("a:b", false),
        ]
    )
    func databases(text: String, isName: Bool) {
        #expect((DatabaseName(text) != nil) == isName)
        #expect(DatabaseName(text)?.description ?? text == text)
    }

    @Test(
        "an upload's id is 32 lower-case hex digits",
        arguments: [
            ("0123456789abcdef0123456789abcdef", true), (String(repeating: "0", count: 32), true),
            ("", false), (String(repeating: "0", count: 31), false),
            (String(repeating: "0", count: 33), false), (String(repeating: "g", count: 32), false),
            (String(repeating: "A", count: 32), false),
            ("../" + String(repeating: "0", count: 29), false),
        ]
    )
    func uploads(text: String, isID: Bool) {
        #expect((UploadID(text) != nil) == isID)
    }

    @Test("a drawn id has all its digits, also when they begin with zeros")
    func drawn() {
        struct Fixed: RandomNumberGenerator {
            var value: UInt64
            mutating func next() -> UInt64 { value }
        }
        for value in [0, 1, UInt64.max] {
            var generator = Fixed(value: value)
            let id = UploadID(random: &generator)
            #expect(UploadID(id.description) == id)
        }
    }
}
