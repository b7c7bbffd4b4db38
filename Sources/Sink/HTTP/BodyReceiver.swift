package import DurableFiles

/// Receives one body: a small one in memory, a larger one in a spool file.
///
/// Used by one thread at a time.
struct BodyReceiver {
    /// Bodies up to this many bytes stay in memory.
    static let memoryLimit = 64 << 10

    private let limit: Int64
    private let spool: Spool
    private var bytes: [UInt8] = []
    private var file: SpoolFile?
    private(set) var count: Int64 = 0

    init(limit: Int64, spool: Spool) {
        self.limit = limit
        self.spool = spool
    }

    /// Takes bytes, or says why not.
    mutating func write(_ buffer: UnsafeRawBufferPointer) -> HTTPResponse? {
        let (end, overflow) = count.addingReportingOverflow(Int64(buffer.count))
        guard !overflow, end <= limit else { return Self.tooLarge(limit) }
        count = end
        if file == nil, end <= Self.memoryLimit {
            bytes.append(contentsOf: buffer)
            return nil
        }
        do throws(FileError) {
            if file == nil { file = try spill() }
            try file?.append(buffer)
            return nil
        } catch {
            return .failure(error)
        }
    }

    private mutating func spill() throws(FileError) -> SpoolFile {
        let file = try spool.create()
        if !bytes.isEmpty { try file.append(bytes) }
        bytes = []
        return file
    }

    /// The whole body.
    var body: RequestBody {
        if let file { .file(file) } else if bytes.isEmpty { .none } else { .bytes(bytes) }
    }

    static func tooLarge(_ limit: Int64) -> HTTPResponse {
        .refusal(413, "a body may have \(limit) bytes here")
    }
}

extension HTTPResponse {
    /// The answer when the sink's own disk refuses.
    package static func failure(_ error: FileError) -> HTTPResponse {
        if error.isNoSpace {
            return .refusal(
                507,
                "the disk of the sink is full",
                headers: [("retry-after", "60")]
            )
        }
        return .refusal(500, "the sink cannot store: \(error.operation.rawValue) failed")
    }
}
