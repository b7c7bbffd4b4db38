/// Takes a follow stream apart, in whatever pieces it comes.
///
/// Holds no more than a line and the piece it was given last.
public struct StreamDecoder: Sendable {
    public enum Part: Hashable, Sendable {
        case frame(StreamFrame)
        /// The next bytes of the file that the `ltx` frame before announced; never empty.
        case bytes(ArraySlice<UInt8>)
    }

    /// The stream is none, or of another version.
    public struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        public var description: String
    }

    /// No line is longer, its line feed included.
    public static let lineLimit = 8192

    private var buffer: ArraySlice<UInt8> = []
    private var hasPreamble = false
    private var remaining: Int64 = 0

    public init() {}

    /// Nothing is half-read: the stream may end here.
    public var isBetweenFrames: Bool { hasPreamble && remaining == 0 && buffer.isEmpty }

    /// Adds what came.
    public mutating func append(_ bytes: [UInt8]) {
        buffer = buffer.isEmpty ? bytes[...] : buffer + bytes
    }

    /// The next part; `nil` when more has to come first.
    ///
    /// - Throws: `Malformed`; the stream is of no use then.
    public mutating func next() throws(Malformed) -> Part? {
        if remaining > 0 {
            guard !buffer.isEmpty else { return nil }
            let count = Int(min(remaining, Int64(buffer.count)))
            let bytes = buffer.prefix(count)
            buffer = buffer.dropFirst(count)
            remaining -= Int64(count)
            return .bytes(bytes)
        }
        if !hasPreamble {
            guard let line = try line() else { return nil }
            guard line + "\n" == StreamFrame.preamble else {
                throw Malformed(description: "the stream does not begin with liters-stream 1")
            }
            hasPreamble = true
        }
        guard let line = try line() else { return nil }
        guard let frame = StreamFrame(line) else {
            throw Malformed(description: "a frame of the stream is not understood")
        }
        if case .ltx(_, _, let size) = frame { remaining = size }
        return .frame(frame)
    }

    private mutating func line() throws(Malformed) -> String? {
        guard let end = buffer.prefix(Self.lineLimit).firstIndex(of: UInt8(ascii: "\n")) else {
            guard buffer.count < Self.lineLimit else {
                throw Malformed(description: "a line of the stream is too long")
            }
            return nil
        }
        let line = String(decoding: buffer[..<end], as: UTF8.self)
        buffer = buffer[(end + 1)...]
        return line
    }
}
