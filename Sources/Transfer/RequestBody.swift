public import DurableFiles

/// The bytes that go with a request; never held in memory as a whole but for `bytes`.
public enum RequestBody: Sendable {
    case none
    case bytes([UInt8])
    /// A range of a file, read as the connection takes it.
    case file(FileSource, Range<Int64>)
    case producer(BodyProducer)

    /// `nil` when only the end will tell.
    var length: Int64? {
        switch self {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .file(_, let range): range.upperBound - range.lowerBound
        case .producer(let producer): producer.length
        }
    }
}

/// A local file that is being sent.
public final class FileSource: Sendable {
    public let path: String
    public let sizeInBytes: Int64
    private let file: FileDescriptor
    private let problem = Lock<FileError?>(nil)

    /// Opens a file, whose size is looked at once.
    ///
    /// - Throws: `FileError`.
    public init(_ path: String) throws(FileError) {
        let file = try FileDescriptor(reading: path)
        self.path = path
        sizeInBytes = try file.status().sizeInBytes
        self.file = file
    }

    /// Why the file could not be read any more, after a request that failed by it.
    public var failure: FileError? { problem.withLock { $0 } }

    /// The facts of the open file.
    public func status() throws(FileError) -> FileStatus {
        try file.status()
    }

    /// Fills the buffer as far as the file goes.
    ///
    /// - Throws: `FileError`.
    public func read(
        at offset: Int64,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(FileError) -> Int {
        do throws(FileError) {
            return try file.read(at: offset, into: buffer)
        } catch {
            problem.withLock { $0 = error }
            throw error
        }
    }
}

/// A body that is made while it is sent.
public struct BodyProducer: Sendable {
    public enum Step: Sendable {
        /// So many bytes of the buffer are filled, at least one.
        case bytes(Int)
        /// Nothing yet: sending pauses until `HTTPTransfer.resume`.
        case later
        case end
        /// The body cannot be had.
        case failure(String)
    }

    /// `nil`: sent in chunks.
    public var length: Int64?
    /// Called on the thread of the transfers, which it must not block.
    public var next: @Sendable (UnsafeMutableRawBufferPointer) -> Step

    public init(
        length: Int64? = nil,
        next: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Step
    ) {
        self.length = length
        self.next = next
    }
}
