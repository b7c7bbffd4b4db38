import DurableFiles
package import LTXCodec
package import Wire

/// What a sink remembers of a database beside its files, in `sink.state`.
///
/// Text, one fact a line, whole or absent. The file is read again when somebody else changed it,
/// so a directory that was rolled back under a running sink counts as what it says now.
package struct DatabaseState: Hashable, Sendable {
    package var lineage: String?
    package var lease: WriterLease?
    /// The upload that the lineage began with, so that it begins none a second time.
    package var origin: Origin?

    /// A whole database that was delivered as a lineage's first state.
    package struct Origin: Hashable, Sendable {
        package var upload: UploadID
        /// Of its snapshot.
        package var txid: TXID

        package init(upload: UploadID, txid: TXID) {
            self.upload = upload
            self.txid = txid
        }
    }

    package init(lineage: String? = nil, lease: WriterLease? = nil, origin: Origin? = nil) {
        self.lineage = lineage
        self.lease = lease
        self.origin = origin
    }

    private static let magic = "dormouse-sink 1"

    /// Reads the text of a file; `nil` when it cannot be understood.
    package init?(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.first.map(String.init) == Self.magic, lines.last == "" else { return nil }
        for line in lines.dropFirst().dropLast() {
            let words = line.split(separator: " ")
            switch (words.first, words.count) {
            case ("lineage", 2) where WriteClaim.isLineage(String(words[1])):
                lineage = String(words[1])
            case ("lease", 3):
                guard let time = Int64(words[2]) else { return nil }
                lease = WriterLease(writer: String(words[1]), writtenAt: time)
            case ("origin", 3):
                guard let upload = UploadID(words[1]), let txid = TXID(String(words[2])) else {
                    return nil
                }
                origin = Origin(upload: upload, txid: txid)
            default: return nil
            }
        }
    }

    package var text: String {
        var lines = [Self.magic]
        if let lineage { lines.append("lineage \(lineage)") }
        if let lease { lines.append("lease \(lease.writer) \(lease.writtenAt)") }
        if let origin { lines.append("origin \(origin.upload) \(origin.txid)") }
        return lines.joined(separator: "\n") + "\n"
    }
}

/// The state of one database and the file it lives in.
struct DatabaseStateFile {
    /// The lease is written down again when it is older than this, milliseconds.
    ///
    /// A push then costs no second fsync. After a restart a lease counts as this much younger: it
    /// may last so much longer, but never ends early.
    static let leaseGranularity: Int64 = 3_600_000

    let path: String
    private(set) var state = DatabaseState()
    private var stored = DatabaseState()
    /// Which file `state` came from; `nil` for none.
    private var seen: Stamp?

    private struct Stamp: Equatable {
        var identity: FileIdentity
        var changed: Int64

        init(_ status: FileStatus) {
            identity = status.identity
            changed = status.changedNanoseconds
        }
    }

    init(_ path: String) {
        self.path = path
    }

    /// Reads the file if it is not the one that was read or written last.
    mutating func refresh(now: Int64) throws {
        let stamp = try FileStatus.of(path).map(Stamp.init)
        guard stamp != seen else { return }
        state = DatabaseState()
        if let bytes = try DurableFiles.read(path, limit: 4096) {
            guard let read = DatabaseState(String(decoding: bytes, as: UTF8.self)) else {
                throw SinkError("\(path) is damaged: restore it, or remove it and push again")
            }
            state = read
            if let lease = read.lease {
                state.lease?.writtenAt = min(
                    max(now, lease.writtenAt),
                    lease.writtenAt + Self.leaseGranularity
                )
            }
            stored = read
        } else {
            stored = DatabaseState()
        }
        seen = stamp
    }

    /// Changes the state; durable on return where that matters.
    mutating func set(_ new: DatabaseState) throws {
        state = new
        let isSoon: Bool =
            switch (new.lease, stored.lease) {
            case (nil, nil): true
            case (let new?, let stored?):
                new.writer == stored.writer
                    && (0..<Self.leaseGranularity).contains(new.writtenAt - stored.writtenAt)
            default: false
            }
        guard new.lineage != stored.lineage || new.origin != stored.origin || !isSoon else {
            return
        }
        let file = try DurableFile(path)
        try file.write(new.text)
        try file.publish()
        stored = new
        seen = try FileStatus.of(path).map(Stamp.init)
    }
}
