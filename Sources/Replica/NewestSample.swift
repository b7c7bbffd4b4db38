import SQLiteBridge

/// The answer to a query for the newest sample of a database.
package struct NewestSample: Sendable, Equatable {
    package enum Time: Sendable, Equatable {
        case milliseconds(Int64)
        case text(String)
    }

    /// `nil` when there is none, or when it cannot be had.
    package let time: Time?
    /// Why it cannot be had.
    package let note: String?

    /// What a query may take: others wait for the answer, and the database is somebody else's.
    private static let timeAllowed = Duration.seconds(1)

    /// Asks a database, reading only and without waiting for a lock.
    init(of path: String, _ query: String) {
        do {
            let connection = try Connection(
                path: path,
                mode: .readOnly,
                busyTimeout: .zero,
                checkpointing: .automatic
            )
            defer { try? connection.close() }
            try connection.interrupt(after: Self.timeAllowed)
            switch try connection.value(query) {
            case .integer(let value):
                (time, note) = (.milliseconds(value), nil)
            case .real(let value):
                (time, note) = (Int64(exactly: value.rounded()).map { .milliseconds($0) }, nil)
            case .text(let value):
                (time, note) = (.text(value), nil)
            case .null, nil:
                (time, note) = (nil, nil)
            case .blob:
                (time, note) = (nil, "the query for the newest sample gives a blob")
            }
        } catch {
            (time, note) = (nil, "\(error)")
        }
    }
}
