import DurableFiles
import Replication

/// The last push of a resident replicator, for `dormouse status`: a line a fact.
///
/// It is a convenience and not synced: after a power cut the next push writes it anew.
struct StatusFile {
    let path: String

    init(database: String) {
        path = Path.join(ReplicatorStatus.directory(of: database), "dormouse-last-push")
    }

    func save(_ record: PushRecord) {
        var lines = [
            "at \(WallClock.now())",
            "outcome \(record.outcome.name)",
            "sync-kind \(record.kind.name)",
            "bytes \(record.bytes)",
            "pages \(record.pages)",
            "backlog-files \(record.backlogFiles)",
            "backlog-bytes \(record.backlogBytes)",
        ]
        if let reason = record.outcome.reason { lines.append("reason \(reason)") }
        let detail = record.outcome.detail.split(whereSeparator: \.isNewline).joined(separator: " ")
        if !detail.isEmpty { lines.append("detail \(detail)") }
        replace(with: lines.joined(separator: "\n") + "\n")
    }

    /// Fails in silence: a database that cannot be opened has no directory beside it, and the
    /// journal has it all.
    private func replace(with text: String) {
        let temporary = path + DurableFile.temporarySuffix
        guard let file = try? FileDescriptor(creating: temporary) else { return }
        var text = text
        do {
            try text.withUTF8 { try file.write(UnsafeRawBufferPointer($0)) }
            try DurableFiles.rename(temporary, to: path)
        } catch {
            try? DurableFiles.remove(temporary)
        }
    }

    /// The facts by their names; empty when there was no push yet.
    func load() -> [String: String] {
        guard let bytes = try? DurableFiles.read(path, limit: 64 << 10) else { return [:] }
        var facts: [String: String] = [:]
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2 else { continue }
            facts[String(parts[0])] = String(parts[1])
        }
        return facts
    }
}
