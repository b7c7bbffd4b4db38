/// What one flush wrote.
public struct FlushReport: Hashable, Sendable {
    /// Rows that were buffered.
    public var offered: Int
    /// Rows that were new; the rest was there already.
    public var inserted: Int
    /// Pages of the database that the transaction changed.
    public var pages: Int
    /// From asking for the write lock to the end of the commit.
    public var duration: Duration
    /// The newest time of a row inserted.
    public var newest: SampleTime?

    public init(
        offered: Int = 0,
        inserted: Int = 0,
        pages: Int = 0,
        duration: Duration = .zero,
        newest: SampleTime? = nil
    ) {
        self.offered = offered
        self.inserted = inserted
        self.pages = pages
        self.duration = duration
        self.newest = newest
    }

    public var duplicates: Int { offered - inserted }
}

/// What one pull found.
public struct PullReport: Sendable {
    /// A source that failed, and will not be asked again.
    public struct Failure: Sendable {
        public let stream: String
        public let error: any Error
    }

    /// Streams whose source ended.
    public internal(set) var ended: [String] = []
    public internal(set) var failed: [Failure] = []
    public internal(set) var bufferedRows: Int
    /// When the next sample is due, perhaps already; `nil` when every source is closed.
    public internal(set) var nextDue: Duration?
    /// Nothing more fits.
    public internal(set) var isFull: Bool
    /// Enough is buffered for a flush before its time.
    public internal(set) var wantsFlush: Bool

    package init(
        bufferedRows: Int = 0,
        nextDue: Duration? = nil,
        isFull: Bool = false,
        wantsFlush: Bool = false
    ) {
        self.bufferedRows = bufferedRows
        self.nextDue = nextDue
        self.isFull = isFull
        self.wantsFlush = wantsFlush
    }
}

/// Something that the collector's loop met, in the order it happened.
public enum CollectorEvent: Sendable {
    case flushed(FlushReport)
    /// The rows stay buffered, and the flush is tried again.
    case flushFailed(any Error, bufferedRows: Int)
    /// The buffer is full: the sources wait until a flush succeeds.
    case bufferFull(rows: Int)
    case sourceEnded(stream: String)
    case sourceFailed(stream: String, any Error)
}

/// A misuse that the caller can mend, or rows that do not fit their stream.
public enum CollectorError: Error, Hashable, Sendable, CustomStringConvertible {
    case closed
    case streams([StreamProblem])
    case unknownStream(String)
    case deviceName(stream: String, String)
    case timeOutOfRange(stream: String, SampleTime)
    case valueCount(stream: String, expected: Int, found: Int)
    case notAnInteger(stream: String, column: String)
    case notFinite(stream: String, column: String)

    public var description: String {
        switch self {
        case .closed: "the collector is closed"
        case .streams(let problems):
            problems.map(\.description).joined(separator: "; ")
        case .unknownStream(let name): "no stream \(name) is configured"
        case .deviceName(let stream, let name):
            "stream \(stream): device name \"\(name)\" is not 1 to 64 bytes"
        case .timeOutOfRange(let stream, let time):
            "stream \(stream): \(time) is outside the years 1 to 9999"
        case .valueCount(let stream, let expected, let found):
            "stream \(stream): \(found) values for \(expected) columns"
        case .notAnInteger(let stream, let column):
            "stream \(stream): column \(column) holds whole numbers"
        case .notFinite(let stream, let column):
            "stream \(stream): column \(column) holds finite numbers"
        }
    }
}
