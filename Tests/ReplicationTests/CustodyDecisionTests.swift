import Replication
import SQLiteWAL
import Testing

/// A cursor behind frame 10 of generation 41/7.
private let cursor = WALCursor(
    salt: WALSalt(salt1: 41, salt2: 900),
    sequence: 7,
    pageSize: 4096,
    bigEndianChecksums: false,
    nextFrame: 11,
    checksum: WALChecksum(s1: 1, s2: 2),
    commit: 50
)

private let frame: Int64 = 4096 + 24

private func header(_ salt1: UInt32, _ sequence: UInt32, salt2: UInt32 = 3) -> WALEvidence.Header {
    .valid(salt: WALSalt(salt1: salt1, salt2: salt2), sequence: sequence)
}

private let same = WALEvidence.Header.valid(salt: cursor.salt, sequence: 7)
private let next = header(42, 8)

/// Evidence of a WAL of 20 frames with the old generation intact from the cursor on.
private func evidence(
    _ header: WALEvidence.Header,
    at cursor: WALCursor = cursor,
    size: Int64? = nil,
    holds: Bool = true,
    continues: Bool = false,
    written: UInt32 = 4,
    indexIsEmpty: Bool = false,
    pinned: UInt32? = nil,
    untouched: Bool = false,
    counted: UInt32? = nil,
    seen: UInt32 = 2
) -> WALEvidence {
    let size = size ?? cursor.offset + 10 * frame
    return WALEvidence(
        header: header,
        cursor: cursor,
        size: size,
        holdsCursor: holds,
        continuesChain: continues,
        framesWritten: written,
        indexIsEmpty: indexIsEmpty,
        pinnedFrames: pinned,
        isUntouched: untouched,
        commitsCounted: counted,
        commitsSeen: seen
    )
}

struct Row: Sendable, CustomTestStringConvertible {
    let name: String
    let evidence: WALEvidence
    let decision: CustodyDecision

    init(_ name: String, _ evidence: WALEvidence, _ decision: CustodyDecision) {
        self.name = name
        self.evidence = evidence
        self.decision = decision
    }

    var testDescription: String { name }
}

@Suite("What evidence decides")
struct CustodyDecisionTests {
    static let sameGeneration: [Row] = [
        Row("same salts, the cursor holds", evidence(same), .resume),
        Row("…and something is behind it", evidence(same, continues: true), .resume),
        Row("…and the file ends at it", evidence(same, size: cursor.offset), .resume),
        Row(
            "the file is one byte short of the cursor",
            evidence(same, size: cursor.offset - 1),
            .lost(.walTruncated)
        ),
        Row("only the header is left", evidence(same, size: 32), .lost(.walTruncated)),
        Row(
            "the frame before it is another one",
            evidence(same, holds: false),
            .lost(.cursorOverwritten)
        ),
        Row(
            "a pin and a count change nothing about that",
            evidence(same, holds: false, pinned: 9, counted: 0, seen: 1),
            .lost(.cursorOverwritten)
        ),
    ]

    static let emptied: [Row] = [
        Row("no WAL", evidence(.missing, size: 0), .lost(.walMissing)),
        Row("an empty WAL", evidence(.empty, size: 0), .lost(.walTruncated)),
        Row("a damaged header", evidence(.unreadable), .lost(.walUnreadable)),
        Row(
            "a damaged header, whatever is counted",
            evidence(.unreadable, indexIsEmpty: true, pinned: 10, counted: 0, seen: 0),
            .lost(.walUnreadable)
        ),
        Row(
            "emptied, and nothing was committed since the cursor",
            evidence(.empty, size: 0, indexIsEmpty: true, counted: 0, seen: 0),
            .emptied(.count)
        ),
        Row(
            "emptied under a pin that is at the cursor",
            evidence(.empty, size: 0, indexIsEmpty: true, pinned: 10, seen: 0),
            .emptied(.pin)
        ),
        Row(
            "emptied, one commit was not seen",
            evidence(.empty, size: 0, indexIsEmpty: true, counted: 1, seen: 0),
            .lost(.walTruncated)
        ),
        Row(
            "cut by somebody who is not SQLite: the index still counts frames",
            evidence(.empty, size: 0, indexIsEmpty: false, counted: 0, seen: 0),
            .lost(.walTruncated)
        ),
        Row(
            "deleted, the index still counts frames",
            evidence(.missing, size: 0, indexIsEmpty: false, pinned: 10, counted: 0, seen: 0),
            .lost(.walMissing)
        ),
        Row(
            "gone, and nothing was committed since the cursor",
            evidence(.missing, size: 0, indexIsEmpty: true, counted: 0, seen: 0),
            .emptied(.count)
        ),
    ]

    static let restarted: [Row] = [
        Row("as many commits as counted", evidence(next, counted: 2), .restarted(.count)),
        Row(
            "…also after the cursor's frame was overwritten",
            evidence(next, holds: false, written: 40, counted: 2),
            .restarted(.count)
        ),
        Row(
            "…also after two restarts, the first of them without a commit",
            evidence(header(43, 9), holds: false, written: 40, counted: 2),
            .restarted(.count)
        ),
        Row(
            "…also with salts drawn by lot",
            evidence(header(77, 0), holds: false, written: 40, counted: 2),
            .restarted(.count)
        ),
        Row(
            "one commit more was counted than is there",
            evidence(next, holds: false, written: 40, counted: 3),
            .lost(.restartedPastCursor)
        ),
        Row(
            "fewer commits were counted than are there: the counter began anew",
            evidence(next, holds: false, written: 40, counted: 1),
            .lost(.restartedPastCursor)
        ),
        Row(
            "a pin at the cursor",
            evidence(next, holds: false, written: 40, pinned: 10),
            .restarted(.pin)
        ),
        Row(
            "a pin behind the cursor lets frames between go unseen",
            evidence(next, holds: false, written: 40, pinned: 11),
            .lost(.restartedPastCursor)
        ),
        Row(
            "a pin before the cursor contradicts the restart: it proves nothing",
            evidence(next, holds: false, written: 40, pinned: 9),
            .lost(.restartedPastCursor)
        ),
        Row(
            "an untouched database file proves a restart that ends at the cursor",
            evidence(next, size: cursor.offset, untouched: true),
            .restarted(.untouched)
        ),
        Row(
            "…and one that has overwritten the old end",
            evidence(next, holds: false, written: 15, untouched: true),
            .restarted(.untouched)
        ),
        Row(
            "…and one whose salts were drawn by lot",
            evidence(header(7, 0), untouched: true),
            .restarted(.untouched)
        ),
        Row(
            "…and says nothing where there was no restart",
            evidence(same, holds: false, untouched: true),
            .lost(.cursorOverwritten)
        ),
        Row("leftovers: the old end stands", evidence(next), .restarted(.leftovers)),
        Row(
            "…up to the last frame before the cursor's own",
            evidence(next, written: 9),
            .restarted(.leftovers)
        ),
        Row(
            "another connection's restart counter stands still",
            evidence(header(42, 7)),
            .restarted(.leftovers)
        ),
        Row("…or begins at one", evidence(header(42, 1)), .restarted(.leftovers)),
        Row(
            "salts drawn by lot that happen to follow",
            evidence(header(42, 0)),
            .lost(.restartedRepeatedly)
        ),
        Row(
            "leftovers with unseen frames",
            evidence(next, continues: true),
            .restartedWithLeftovers
        ),
        Row(
            "the new generation has reached the cursor",
            evidence(next, holds: false, written: 10),
            .lost(.restartedPastCursor)
        ),
        Row(
            "…and gone past it, on to bytes that look like the old frame",
            evidence(next, written: 11),
            .lost(.restartedPastCursor)
        ),
        Row(
            "the frame before the cursor is gone",
            evidence(next, holds: false, written: 3),
            .lost(.restartedPastCursor)
        ),
        Row("two restarts", evidence(header(43, 9)), .lost(.restartedRepeatedly)),
        Row(
            "two restarts, unseen frames still there",
            evidence(header(43, 9), continues: true),
            .lost(.restartedRepeatedly)
        ),
        Row("salts of another life", evidence(header(7, 0)), .lost(.restartedRepeatedly)),
        Row("a salt that went back", evidence(header(40, 6)), .lost(.restartedRepeatedly)),
        Row(
            "the cursor's first salt, another second one",
            evidence(header(41, 7, salt2: 901)),
            .lost(.restartedRepeatedly)
        ),
        Row(
            "the cursor's salts, another restart counter",
            evidence(.valid(salt: cursor.salt, sequence: 8)),
            .lost(.restartedRepeatedly)
        ),
    ]

    static let ends: [Row] = [
        Row(
            "the file ends at the cursor: a size limit may have cut it there",
            evidence(next, size: cursor.offset),
            .lost(.walTruncated)
        ),
        Row(
            "…or inside the next frame",
            evidence(next, size: cursor.offset + 100),
            .lost(.walTruncated)
        ),
        Row(
            "…one byte before its end",
            evidence(next, size: cursor.offset + frame - 1),
            .lost(.walTruncated)
        ),
        Row(
            "a whole frame stands behind the cursor",
            evidence(next, size: cursor.offset + frame),
            .restarted(.leftovers)
        ),
    ]

    @Test("a WAL that is the cursor's generation", arguments: sameGeneration)
    func decidesInSameGeneration(row: Row) {
        #expect(CustodyDecision(row.evidence) == row.decision)
    }

    @Test("a WAL without frames", arguments: emptied)
    func decidesWithoutFrames(row: Row) {
        #expect(CustodyDecision(row.evidence) == row.decision)
    }

    @Test("a WAL that began again", arguments: restarted)
    func decidesAfterRestart(row: Row) {
        #expect(CustodyDecision(row.evidence) == row.decision)
    }

    @Test("a WAL that began again and ends near the cursor", arguments: ends)
    func decidesNearTheEnd(row: Row) {
        #expect(CustodyDecision(row.evidence) == row.decision)
    }

    @Test("the first salt goes round at 2³²")
    func wraps() {
        var last = cursor
        last.salt.salt1 = .max
        last.sequence = .max
        #expect(CustodyDecision(evidence(header(0, 1), at: last)) == .restarted(.leftovers))
        // A counter that went round makes SQLite draw new salts, which can follow by chance only.
        #expect(
            CustodyDecision(evidence(header(0, 0), at: last)) == .lost(.restartedRepeatedly)
        )
        #expect(
            CustodyDecision(evidence(header(1, 1), at: last)) == .lost(.restartedRepeatedly)
        )
        last.salt.salt1 = .max - 1
        #expect(
            CustodyDecision(evidence(header(0, 1), at: last)) == .lost(.restartedRepeatedly)
        )
    }

    @Test("a cursor at the first frame or at the last possible one traps nothing")
    func extremes() {
        var first = cursor
        first.nextFrame = 1
        #expect(
            CustodyDecision(evidence(next, at: first, holds: false, written: 1))
                == .lost(.restartedPastCursor)
        )
        #expect(
            CustodyDecision(evidence(next, at: first, holds: false, pinned: 0)) == .restarted(.pin)
        )
        var last = cursor
        last.nextFrame = .max
        last.pageSize = 65_536
        let far = evidence(next, at: last, size: .max)
        #expect(CustodyDecision(far) == .restarted(.leftovers))
    }

    // MARK: At rest

    struct RestRow: Sendable, CustomTestStringConvertible {
        let name: String
        let evidence: RestEvidence
        let decision: CustodyDecision

        var testDescription: String { name }
    }

    static let atRest: [RestRow] = [
        RestRow(
            name: "nothing happened",
            evidence: RestEvidence(header: .empty, isUntouched: true),
            decision: .resume
        ),
        RestRow(
            name: "nothing happened, without a file",
            evidence: RestEvidence(header: .missing, isUntouched: true),
            decision: .resume
        ),
        RestRow(
            name: "the database was written to while the WAL is empty",
            evidence: RestEvidence(header: .empty, isUntouched: false),
            decision: .lost(.walMissing)
        ),
        RestRow(
            name: "…but nothing was committed",
            evidence: RestEvidence(header: .empty, isUntouched: false, commitsCounted: 0),
            decision: .resume
        ),
        RestRow(
            name: "…a commit went by",
            evidence: RestEvidence(header: .empty, isUntouched: false, commitsCounted: 1),
            decision: .lost(.walMissing)
        ),
        RestRow(
            name: "a WAL under our pin",
            evidence: RestEvidence(header: next, isUntouched: false, isPinned: true),
            decision: .restarted(.pin)
        ),
        RestRow(
            name: "a WAL with all commits",
            evidence: RestEvidence(
                header: next,
                isUntouched: false,
                commitsCounted: 5,
                commitsSeen: 5
            ),
            decision: .restarted(.count)
        ),
        RestRow(
            name: "a WAL with some commits",
            evidence: RestEvidence(
                header: next,
                isUntouched: false,
                commitsCounted: 6,
                commitsSeen: 5
            ),
            decision: .lost(.walAppeared)
        ),
        RestRow(
            name: "a WAL, and the database file is what it was: nothing was copied back",
            evidence: RestEvidence(header: next, isUntouched: true, commitsSeen: 5),
            decision: .restarted(.untouched)
        ),
        RestRow(
            name: "a WAL, and the database file was written to",
            evidence: RestEvidence(header: next, isUntouched: false, commitsSeen: 5),
            decision: .lost(.walAppeared)
        ),
        RestRow(
            name: "a damaged header",
            evidence: RestEvidence(header: .unreadable, isUntouched: true, isPinned: true),
            decision: .lost(.walUnreadable)
        ),
    ]

    @Test("a database that was at rest", arguments: atRest)
    func decidesAtRest(row: RestRow) {
        #expect(CustodyDecision(row.evidence) == row.decision)
    }
}
