import Glibc
import Synchronization

/// Why output could not be written.
public enum OutputError: Error, Hashable, Sendable {
    /// The reader has gone.
    case closed
    /// Anything else, such as a full disk; the reason as the system words it.
    case failed(String)
}

/// A stream of output, buffered until `flush`, the end of a `print`, or 64 KiB.
public final class Output: Sendable {
    private static let bufferSize = 64 << 10

    /// `nil` when output is kept in memory.
    let descriptor: CInt?
    private let buffer = Mutex<[UInt8]>([])

    public init(descriptor: CInt) {
        self.descriptor = descriptor
    }

    /// Output stays in memory, for tests.
    public init() {
        descriptor = nil
    }

    /// What has been written, when it stays in memory; what is buffered otherwise.
    package var contents: [UInt8] {
        buffer.withLock { $0 }
    }

    /// A terminal reads it.
    public var isTerminal: Bool {
        descriptor.map { isatty($0) == 1 } ?? false
    }

    /// Columns of the terminal; 80 when unknown.
    public var columns: Int {
        var size = winsize()
        guard let descriptor, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0
        else { return 80 }
        return Int(size.ws_col)
    }

    /// A line, on its way at once, so that lines of a long job are seen as they come.
    public func print(_ line: String = "") throws(OutputError) {
        try write(line + "\n")
        try flush()
    }

    public func write(_ text: String) throws(OutputError) {
        try write(Array(text.utf8))
    }

    public func write(_ bytes: [UInt8]) throws(OutputError) {
        let isFull = buffer.withLock { buffer in
            buffer += bytes
            return buffer.count >= Self.bufferSize
        }
        if isFull { try flush() }
    }

    /// Hands everything to the system.
    public func flush() throws(OutputError) {
        guard let descriptor else { return }
        let failure: OutputError? = buffer.withLock { buffer in
            // Emptied in any case: what failed once is not tried again at the exit.
            defer { buffer.removeAll(keepingCapacity: true) }
            return Self.writeAll(buffer, to: descriptor)
        }
        if let failure { throw failure }
    }

    private static func writeAll(_ bytes: [UInt8], to descriptor: CInt) -> OutputError? {
        bytes.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                let size = Glibc.write(
                    descriptor,
                    bytes.baseAddress?.advanced(by: offset),
                    bytes.count - offset
                )
                if size >= 0 {
                    offset += size
                    continue
                }
                let code = errno
                switch code {
                case EINTR: continue
                case EAGAIN:
                    var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    _ = poll(&waiting, 1, -1)
                case EPIPE: return .closed
                default: return .failed(text(of: code))
                }
            }
            return nil
        }
    }

    private static func text(of code: CInt) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            guard let start = buffer.baseAddress, strerror_r(code, start, buffer.count) == 0
            else { return "error \(code)" }
            return String(cString: start)
        }
    }
}
