import Glibc

/// Where records go.
///
/// Copies write to the same place. Writing never throws and never waits longer than a moment: see `Outlet`.
public struct Journal: Sendable {
    /// What to write to.
    public enum Format: String, CaseIterable, Sendable {
        /// The journal when standard error is connected to it, else logfmt on standard error.
        case auto
        /// The journal when there is one, else logfmt on standard error.
        case journal
        case logfmt
    }

    private enum Target: Sendable {
        case outlet(Outlet)
        case capture(JournalCapture)
    }

    private let target: Target
    private var minimum: Priority
    private var common: [JournalRecord.Entry] = []

    /// True when records go to the journal; false for logfmt on standard error.
    public let usesJournal: Bool

    /// - Parameters:
    ///   - format: `.journal` without a journal means logfmt; `usesJournal` tells.
    ///   - minimum: Records that matter less are not written.
    ///   - connection: How this process is connected; tests pass their own.
    public init(
        _ format: Format = .auto,
        minimum: Priority = .info,
        connection: JournalConnection = .current
    ) {
        usesJournal =
            switch format {
            case .auto: connection.standardErrorIsJournal
            case .journal: connection.standardErrorIsJournal || connection.hasSocket
            case .logfmt: false
            }
        target = .outlet(
            Outlet(write: usesJournal ? JournalWriter.write : StandardErrorWriter.write)
        )
        self.minimum = minimum
    }

    /// Records go into memory.
    public init(_ capture: JournalCapture, minimum: Priority = .debug) {
        target = .capture(capture)
        self.minimum = minimum
        usesJournal = false
    }

    /// The same place, with another limit.
    public func limited(to minimum: Priority) -> Journal {
        var journal = self
        journal.minimum = minimum
        return journal
    }

    package init(minimum: Priority, outlet: Outlet) {
        target = .outlet(outlet)
        self.minimum = minimum
        usesJournal = false
    }

    /// The same journal, with fields that each record gets unless it has its own.
    public func with(_ fields: KeyValuePairs<Field, FieldValue>) -> Journal {
        var journal = self
        for (field, value) in fields {
            journal.common.removeAll { $0.field == field }
            journal.common.append(JournalRecord.Entry(field: field, value: value))
        }
        return journal
    }

    /// Writes a record, if it matters enough.
    public func write(_ record: JournalRecord) {
        guard record.priority <= minimum else { return }
        let record = record.adding(common)
        switch target {
        case .outlet(let outlet): outlet.write(record)
        case .capture(let capture): capture.append(record)
        }
    }

    /// Writes a record made of its parts.
    public func write(
        _ kind: RecordKind,
        _ priority: Priority = .info,
        _ message: StaticString,
        _ fields: KeyValuePairs<Field, FieldValue> = [:]
    ) {
        write(JournalRecord(kind, priority, message, fields))
    }
}

/// Whether there is a journal, and whether standard error leads to it.
public struct JournalConnection: Sendable {
    /// `JOURNAL_STREAM` names the device and inode of standard error.
    public var standardErrorIsJournal: Bool
    /// journald's socket is there.
    public var hasSocket: Bool

    public init(standardErrorIsJournal: Bool, hasSocket: Bool) {
        self.standardErrorIsJournal = standardErrorIsJournal
        self.hasSocket = hasSocket
    }

    /// How this process is connected now.
    public static var current: JournalConnection {
        let stream = getenv("JOURNAL_STREAM").map { String(cString: $0) }
        return JournalConnection(
            standardErrorIsJournal: matches(stream, descriptor: STDERR_FILENO),
            hasSocket: access("/run/systemd/journal/socket", W_OK) == 0
        )
    }

    /// Compares `device:inode` in decimal with a descriptor.
    ///
    /// Source: systemd.exec(5), `$JOURNAL_STREAM`: a process whose parent redirected standard
    /// error finds the variable set, too, and only this comparison tells.
    package static func matches(_ stream: String?, descriptor: CInt) -> Bool {
        guard let stream else { return false }
        let parts = stream.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let device = UInt64(parts[0]), let inode = UInt64(parts[1]) else {
            return false
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        return UInt64(status.st_dev) == device && UInt64(status.st_ino) == inode
    }
}
