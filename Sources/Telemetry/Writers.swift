internal import CSystemd
import Glibc

/// Hands records to journald.
enum JournalWriter {
    @Sendable
    static func write(_ record: JournalRecord) {
        var assignments = [
            Array("MESSAGE=\(record.message)".utf8),
            Array("MESSAGE_ID=\(record.messageID)".utf8),
            Array("PRIORITY=\(record.priority.rawValue)".utf8),
            Array("SYSLOG_IDENTIFIER=dormouse".utf8),
            Array("DORMOUSE_KIND=\(record.kind.rawValue)".utf8),
        ]
        for entry in record.entries {
            assignments.append(Array("\(entry.field.journalName)=".utf8) + entry.value.bytes)
        }
        if !send(assignments) { StandardErrorWriter.write(record) }
    }

    /// One flat buffer, because the vectors must point into memory that stays where it is.
    private static func send(_ assignments: [[UInt8]]) -> Bool {
        var flat = Array(assignments.joined())
        return flat.withUnsafeMutableBytes { buffer in
            var offset = 0
            let vectors = assignments.map { assignment in
                defer { offset += assignment.count }
                return iovec(
                    iov_base: buffer.baseAddress?.advanced(by: offset),
                    iov_len: assignment.count
                )
            }
            return sd_journal_sendv(vectors, CInt(vectors.count)) >= 0
        }
    }
}

/// Writes records to standard error as logfmt.
enum StandardErrorWriter {
    @Sendable
    static func write(_ record: JournalRecord) {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let line = Logfmt.line(record, seconds: Int64(now.tv_sec), nanoseconds: now.tv_nsec)
        var rest = line[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes {
                Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count)
            }
            if written > 0 {
                rest = rest.dropFirst(written)
                continue
            }
            let code = errno
            switch code {
            case EINTR: continue
            case EAGAIN:
                var descriptor = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
                _ = poll(&descriptor, 1, -1)
            default: return
            }
        }
    }
}
