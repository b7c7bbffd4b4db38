import Testing
import Wire

@Suite("Headers of resumable uploads")
struct ResumableUploadTests {
    @Test(
        "a structured boolean is ?1 or ?0, and anything else is not there",
        arguments: [
            ("?1", true), ("?0", false), (" ?1 ", true), ("?1;a=b", true), ("", nil), ("1", nil),
            ("true", nil), ("?2", nil), ("?", nil), ("?1?1", nil), ("?1, ?0", nil), ("?١", nil),
        ] as [(String, Bool?)]
    )
    func booleans(text: String, value: Bool?) {
        #expect(StructuredField.boolean(text) == value)
    }

    @Test(
        "a structured integer has up to 15 digits, and no sign here",
        arguments: [
            ("0", 0), ("25000000", 25_000_000), ("999999999999999", 999_999_999_999_999),
            (" 7\t", 7), ("7;x", 7), ("007", 7), ("", nil), ("-1", nil), ("+1", nil), ("1.0", nil),
            ("1000000000000000", nil), ("1 2", nil), ("0x1", nil), ("\"1\"", nil), ("٣", nil),
        ] as [(String, Int64?)]
    )
    func integers(text: String, value: Int64?) {
        #expect(StructuredField.integer(text) == value)
    }

    @Test(
        "limits are read by their names, whatever stands beside them",
        arguments: [
            ("max-size=10", UploadLimits(maxSize: 10)),
            ("max-size=10, max-age=5", UploadLimits(maxSize: 10, maxAge: 5)),
            ("expires=5,max-append-size=3", UploadLimits(maxAppendSize: 3, maxAge: 5)),
            ("expires=5, max-age=6", UploadLimits(maxAge: 6)),
            ("min-size=0", UploadLimits()),
            ("x=\"a,b;max-size=1\", max-size=2", UploadLimits(maxSize: 2)),
            ("flag, max-size=3;p=1", UploadLimits(maxSize: 3)),
            ("max-size=a", nil), ("max-size", nil), ("max-size=", nil), ("", nil), ("=1", nil),
            ("MAX=1", nil), ("max-size=1,", nil), ("max-size=-1", nil),
        ] as [(String, UploadLimits?)]
    )
    func limits(text: String, limits: UploadLimits?) {
        #expect(UploadLimits(text) == limits)
    }

    @Test(
        "limits are printed in the words of the draft, and an empty set as one that limits nothing"
    )
    func printedLimits() throws {
        let limits = UploadLimits(maxSize: 10, maxAge: 86_400)
        #expect(limits.text(.newest) == "max-size=10, max-age=86400")
        #expect(limits.text(.oldest) == "max-size=10, expires=86400")
        #expect(UploadLimits().text(.newest) == "min-size=0")
        for dialect in [UploadDialect.newest, .oldest] {
            #expect(UploadLimits(limits.text(dialect)) == limits)
        }
    }

    @Test(
        "a draft is told by its number",
        arguments: [
            (nil, .some(nil)), ("6", 6), ("7", 7), ("8", 8), ("9", 8), ("15", 8), ("x", .some(nil)),
            ("5", nil), ("3", nil), ("0", nil),
        ] as [(String?, Int??)]
    )
    func dialects(header: String?, version: Int??) {
        switch version {
        case .none: #expect(UploadDialect(header: header) == nil)
        case .some(let version):
            #expect(UploadDialect(header: header).map(\.interopVersion) == .some(version))
        }
    }

    private func headers(_ fields: [String: String]) -> UploadHeaders {
        UploadHeaders { fields[$0] }
    }

    @Test("without upload-complete, or with ?1, the whole file is in the request")
    func plain() throws {
        for complete in [nil, "?1", "yes"] as [String?] {
            for version in [nil, "3", "6", "8"] as [String?] {
                var fields = ["upload-length": "5"]
                fields["upload-complete"] = complete
                fields["upload-draft-interop-version"] = version
                #expect(try UploadCreation(headers(fields), contentLength: 5) == .plain)
            }
        }
    }

    @Test("with ?0 a resource is to be made, by a draft that is known")
    func creation() throws {
        var fields = ["upload-complete": "?0", "upload-length": "5"]
        let bare = try UploadCreation(headers(fields), contentLength: 0)
        guard case .resource(let dialect, length: 5) = bare else {
            Issue.record("\(bare)")
            return
        }
        #expect(dialect.interopVersion == nil)
        fields["upload-draft-interop-version"] = "6"
        #expect(
            try UploadCreation(headers(fields), contentLength: nil)
                == .resource(.oldest, length: 5)
        )
        fields["upload-draft-interop-version"] = "5"
        #expect(throws: UploadCreation.Refusal.unsupportedInterop) {
            try UploadCreation(self.headers(fields), contentLength: 0)
        }
        #expect(UploadCreation.Refusal.interopReason.contains("6 to 8"))
    }

    @Test("lengths that contradict each other are a problem")
    func creationLengths() {
        for (complete, content) in [("?1", 4), ("?1", 6), ("?0", 6)] as [(String, Int64)] {
            let fields = ["upload-complete": complete, "upload-length": "5"]
            #expect(throws: UploadCreation.Refusal.problem(.inconsistentLength)) {
                try UploadCreation(self.headers(fields), contentLength: content)
            }
        }
    }

    @Test("an append says where it begins and whether it is the last")
    func part() throws {
        var fields = [
            "upload-offset": "10", "upload-complete": "?0", "upload-draft-interop-version": "8",
        ]
        let type = "application/partial-upload"
        var part = try UploadPart(headers(fields), mediaType: type, contentLength: 5)
        #expect(part.offset == 10 && !part.isLast && part.length == nil)
        fields["upload-complete"] = "?1"
        part = try UploadPart(headers(fields), mediaType: type, contentLength: 5)
        #expect(part.isLast && part.length == 15)
        part = try UploadPart(headers(fields), mediaType: type, contentLength: nil)
        #expect(part.isLast && part.length == nil)
        fields["upload-complete"] = nil
        fields["upload-draft-interop-version"] = "6"
        part = try UploadPart(
            headers(fields),
            mediaType: "Application/Partial-Upload; a=b",
            contentLength: 5
        )
        #expect(part.isLast)
    }

    @Test("an append that is none is refused")
    func noPart() {
        let good = [
            "upload-offset": "10", "upload-complete": "?1", "upload-draft-interop-version": "8",
        ]
        let type = "application/partial-upload"
        func refusal(
            _ change: [String: String?],
            type: String? = type,
            length: Int64? = 5
        ) -> UploadPart.Refusal? {
            let fields = good.merging(change.mapValues { $0 ?? "none" }) { $1 }
            return #expect(throws: UploadPart.Refusal.self) {
                try UploadPart(self.headers(fields), mediaType: type, contentLength: length)
            }
        }
        #expect(refusal([:], type: nil) == .mediaType)
        #expect(refusal([:], type: "application/octet-stream") == .mediaType)
        let inconsistent = UploadPart.Refusal.problem(.inconsistentLength)
        #expect(refusal(["upload-length": "14"]) == inconsistent)
        #expect(refusal(["upload-length": "16"]) == inconsistent)
        #expect(refusal(["upload-length": "14", "upload-complete": "?0"]) == inconsistent)
        #expect(refusal([:], length: .max) == inconsistent)
        for change in [
            ["upload-offset": nil], ["upload-offset": "-1"], ["upload-complete": nil],
            ["upload-draft-interop-version": "5"],
        ] as [[String: String?]] {
            guard case .malformed? = refusal(change) else {
                Issue.record("\(change) is no reason")
                continue
            }
        }
    }

    @Test("answers carry the headers that the draft wants")
    func answers() {
        func text(_ headers: [HeaderField]) -> [String] {
            headers.map { "\($0.name): \($0.value)" }
        }
        let limits = UploadLimits(maxSize: 9)
        #expect(
            text(UploadDialect.newest.createdHeaders(location: "/u", offset: 0, limits: limits))
                == [
                    "upload-complete: ?0", "upload-draft-interop-version: 8", "location: /u",
                    "upload-offset: 0", "upload-limit: max-size=9",
                ]
        )
        let state = UploadDialect.oldest.stateHeaders(
            offset: 3,
            length: 9,
            isComplete: true,
            limits: limits
        )
        #expect(
            text(state) == [
                "upload-complete: ?1", "upload-draft-interop-version: 6", "upload-offset: 3",
                "upload-length: 9", "upload-limit: max-size=9", "cache-control: no-store",
            ]
        )
        #expect(UploadDialect.newest.appendedStatus == 204)
        #expect(UploadDialect.oldest.appendedStatus == 201)
        let bare = UploadDialect(header: nil)
        #expect(
            text(bare?.partHeaders(offset: 3) ?? []) == ["upload-complete: ?0", "upload-offset: 3"]
        )
    }

    @Test("a mismatch is told as a problem document on one line")
    func problems() {
        let problem = UploadProblem.mismatchingOffset(expected: 100, provided: 200)
        #expect(problem.status == 409)
        #expect(
            problem.json
                == #"{"type":"https://iana.org/assignments/http-problem-types#mismatching-upload-offset","#
                + #""title":"the part does not begin where the upload ends","#
                + #""expected-offset":100,"provided-offset":200}"#
        )
        #expect(UploadProblem.inconsistentLength.status == 400)
        #expect(UploadProblem.completed.status == 400)
    }
}

@Suite("Bearer tokens")
struct BearerTokenTests {
    @Test(
        "a token matches itself and nothing else",
        arguments: [
            "", "s", "secre", "secret ", "Secret", "secretsecret", "secreu", "tsecre",
            "secretsecre",
        ]
    )
    func matches(other: String) throws {
        let token = try BearerToken("secret")
        #expect(token.matches("secret"))
        #expect(!token.matches(other))
        #expect(token.authorization == "Bearer secret")
        #expect(!"\(token)".contains("secret") && !String(reflecting: token).contains("secret"))
    }
}
