package import DurableFiles
import LTXCodec
import SQLiteWAL

/// The replicator's state on disk: a line a fact, and a CRC-64 of all lines before it.
///
/// ```
/// dormouse-state 1
/// lineage 6f1c…
/// database 2049 131077
/// highest 000000000000002a
/// made 000000000000002a 9c3e… cursor 2671382978 193810064 7 le 121 1545577424 201 4096 187032
/// acknowledged 000000000000002a 8c1b… /var/backups/health
/// held-as 6f1c… https://sink.example/db/health
/// streak 0
/// crc 4d0f…
/// ```
package struct StateFile {
    let path: String

    package init(path: String) {
        self.path = path
    }

    static let version = 1
    /// Far above what a hundred buckets need.
    private static let limit = 1 << 20

    /// Why a state cannot be used; the replicator goes on without it.
    package enum Unusable: Error, Equatable, CustomStringConvertible {
        case checksum
        case version(String)
        case line(Int, String)
        case missing(String)

        package var description: String {
            switch self {
            case .checksum: "its checksum does not match"
            case .version(let text):
                "it is of version \(text), this program knows \(StateFile.version)"
            case .line(let number, let text): "line \(number) is not understood: \(text.prefix(60))"
            case .missing(let key): "it has no line \(key)"
            }
        }
    }

    /// Reads the state; `nil` if there is none.
    package func load() throws -> ReplicatorState? {
        guard let bytes = try DurableFiles.read(path, limit: Self.limit) else { return nil }
        return try Self.parse(String(decoding: bytes, as: UTF8.self))
    }

    package func save(_ state: ReplicatorState) throws(FileError) {
        let file = try DurableFile(path)
        try file.write(Self.text(of: state))
        try file.publish()
    }

    // MARK: Writing

    package static func text(of state: ReplicatorState) -> String {
        var lines = [
            "dormouse-state \(version)",
            "lineage \(state.lineage)",
            "database \(state.database.device) \(state.database.inode)",
            "highest \(state.highest)",
            "made \(text(of: state.made))",
        ]
        if let making = state.making {
            lines.append(
                "making \(making.level) \(making.name) \(making.fileChecksum) "
                    + text(of: making.made)
            )
        }
        for (address, acknowledged) in state.acknowledged.sorted(by: { $0.key < $1.key }) {
            // An address with a line break could not be read back, and none is a real one.
            guard !address.contains(where: \.isNewline) else { continue }
            lines.append(
                "acknowledged \(acknowledged.txid) \(acknowledged.fileChecksum) \(address)"
            )
            // A server's word: only what can be read back is kept.
            if let lineage = acknowledged.lineage, !lineage.isEmpty,
                !lineage.contains(where: \.isWhitespace)
            {
                lines.append("held-as \(lineage) \(address)")
            }
        }
        lines.append("streak \(state.streak.count)")
        if state.isGivenUp { lines.append("given-up") }
        let body = lines.joined(separator: "\n") + "\n"
        return body + "crc \(hex(crc(body)))\n"
    }

    private static func text(of made: ReplicatorState.Made) -> String {
        "\(made.txid) \(made.checksum) \(made.sealed.map(text(of:)) ?? "-") "
            + text(of: made.place)
    }

    private static func text(of place: Place) -> String {
        switch place {
        case .unknown: return "unknown"
        case .atRest(let database): return "at-rest \(text(of: database))"
        case .cursor(let cursor):
            let numbers: [UInt32] = [
                cursor.nextFrame, cursor.checksum.s1, cursor.checksum.s2, cursor.pageSize,
                cursor.commit,
            ]
            return "cursor \(cursor.salt.salt1) \(cursor.salt.salt2) \(cursor.sequence) "
                + (cursor.bigEndianChecksums ? "be " : "le ")
                + numbers.map { String($0) }.joined(separator: " ")
        }
    }

    private static func text(of print: FileFingerprint) -> String {
        "\(print.identity.device):\(print.identity.inode):\(print.sizeInBytes)"
            + ":\(print.modifiedNanoseconds):\(print.changedNanoseconds)"
    }

    private static func crc(_ text: String) -> UInt64 {
        var crc = CRC64()
        var text = text
        text.withUTF8 { crc.update(UnsafeRawBufferPointer($0)) }
        return crc.value
    }

    private static func hex(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    // MARK: Reading

    package static func parse(_ text: String) throws(Unusable) -> ReplicatorState {
        guard let end = text.range(of: "crc ", after: "\n") else { throw .missing("crc") }
        let body = String(text[..<end])
        guard text[end...].dropFirst(4) == hex(crc(body)) + "\n" else { throw .checksum }
        let lines = body.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        var parser = LineParser()
        for (index, line) in lines.enumerated() {
            let words = line.split(separator: " ", omittingEmptySubsequences: false)
            if index == 0 {
                guard words.first == "dormouse-state", words.count == 2 else {
                    throw .line(1, String(line))
                }
                guard words[1] == "\(version)" else { throw .version(String(words[1])) }
                continue
            }
            guard parser.take(words) else { throw .line(index + 1, String(line)) }
        }
        return try parser.state()
    }

    private struct LineParser {
        private var lineage: String?
        private var database: FileIdentity?
        private var made: ReplicatorState.Made?
        private var highest: TXID?
        private var making: ReplicatorState.Making?
        private var acknowledged: [String: ReplicatorState.Acknowledged] = [:]
        private var streak: RetryStreak?
        private var isGivenUp = false

        mutating func take(_ words: [Substring]) -> Bool {
            switch words.first {
            case "lineage":
                guard words.count == 2, lineage == nil else { return false }
                lineage = String(words[1])
            case "database":
                guard words.count == 3, database == nil, let device = UInt64(words[1]),
                    let inode = UInt64(words[2])
                else { return false }
                database = FileIdentity(device: device, inode: inode)
            case "made":
                guard made == nil, let made = Self.made(words[1...]) else { return false }
                self.made = made
            case "highest":
                guard words.count == 2, highest == nil, let txid = TXID(String(words[1])) else {
                    return false
                }
                highest = txid
            case "making":
                guard words.count > 4, making == nil, let level = Int(words[1]),
                    (0...9).contains(level), let name = LTXFileName(String(words[2])),
                    let checksum = UInt64(words[3], radix: 16), let made = Self.made(words[4...])
                else { return false }
                making = ReplicatorState.Making(
                    level: level,
                    name: name,
                    fileChecksum: Checksum(rawValue: checksum),
                    made: made
                )
            case "acknowledged":
                guard words.count > 3, let txid = TXID(String(words[1])),
                    let checksum = UInt64(words[2], radix: 16)
                else { return false }
                acknowledged[words[3...].joined(separator: " ")] = ReplicatorState.Acknowledged(
                    txid: txid,
                    fileChecksum: Checksum(rawValue: checksum)
                )
            case "held-as":
                guard words.count > 2 else { return false }
                acknowledged[words[2...].joined(separator: " ")]?.lineage = String(words[1])
            case "streak":
                guard words.count == 2, streak == nil, let count = UInt32(words[1]) else {
                    return false
                }
                streak = RetryStreak(count: count)
            case "given-up":
                guard words.count == 1 else { return false }
                isGivenUp = true
            default:
                return false
            }
            return true
        }

        func state() throws(Unusable) -> ReplicatorState {
            guard let lineage else { throw .missing("lineage") }
            guard let database else { throw .missing("database") }
            guard let made else { throw .missing("made") }
            guard let highest else { throw .missing("highest") }
            guard let streak else { throw .missing("streak") }
            var state = ReplicatorState(lineage: lineage, database: database)
            state.made = made
            state.making = making
            state.highest = highest
            state.acknowledged = acknowledged
            state.streak = streak
            state.isGivenUp = isGivenUp
            return state
        }

        private static func made(_ words: ArraySlice<Substring>) -> ReplicatorState.Made? {
            let words = Array(words)
            guard words.count > 3, let txid = TXID(String(words[0])),
                let checksum = UInt64(words[1], radix: 16), let place = place(words[3...])
            else { return nil }
            var made = ReplicatorState.Made(
                txid: txid,
                place: place,
                checksum: Checksum(rawValue: checksum)
            )
            if words[2] != "-" {
                guard let sealed = fingerprint(words[2]) else { return nil }
                made.sealed = sealed
            }
            return made
        }

        private static func place(_ words: ArraySlice<Substring>) -> Place? {
            let rest = Array(words.dropFirst())
            switch words.first {
            case "unknown":
                return rest.isEmpty ? .unknown : nil
            case "at-rest":
                guard rest.count == 1, let database = fingerprint(rest[0]) else { return nil }
                return .atRest(database)
            case "cursor":
                guard rest.count == 9, rest[3] == "le" || rest[3] == "be" else { return nil }
                let numbers = (rest[..<3] + rest[4...]).compactMap { UInt32($0) }
                guard numbers.count == 8, numbers[3] > 0, WALHeader.isPageSize(numbers[6]) else {
                    return nil
                }
                return .cursor(
                    WALCursor(
                        salt: WALSalt(salt1: numbers[0], salt2: numbers[1]),
                        sequence: numbers[2],
                        pageSize: numbers[6],
                        bigEndianChecksums: rest[3] == "be",
                        nextFrame: numbers[3],
                        checksum: WALChecksum(s1: numbers[4], s2: numbers[5]),
                        commit: numbers[7]
                    )
                )
            default:
                return nil
            }
        }

        private static func fingerprint(_ text: Substring) -> FileFingerprint? {
            let parts = text.split(separator: ":")
            guard parts.count == 5, let device = UInt64(parts[0]), let inode = UInt64(parts[1]),
                let size = Int64(parts[2]), let modified = Int64(parts[3]),
                let changed = Int64(parts[4])
            else { return nil }
            return FileFingerprint(
                identity: FileIdentity(device: device, inode: inode),
                sizeInBytes: size,
                modifiedNanoseconds: modified,
                changedNanoseconds: changed
            )
        }
    }
}

extension String {
    /// Where the last line that starts with a prefix begins.
    fileprivate func range(of prefix: String, after separator: Character) -> Index? {
        var end = endIndex
        while let found = self[..<end].lastIndex(of: separator) {
            let start = index(after: found)
            if self[start...].hasPrefix(prefix) { return start }
            end = found
        }
        return nil
    }
}
