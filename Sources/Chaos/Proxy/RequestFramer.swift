/// Finds where HTTP/1.1 requests and their bodies end in a stream of bytes.
///
/// It checks nothing: what it cannot follow it calls a body without end.
struct RequestFramer {
    enum Piece: Equatable {
        /// A whole head, the empty line included.
        case head(method: String, target: String, bytes: [UInt8])
        case body([UInt8])
        case end
    }

    private enum State {
        case head
        case length(Int64)
        case chunkSize
        case chunk(Int64)
        case trailer
        case endless
    }

    /// Bytes of the body of the request whose head came last; -1 when it comes in chunks.
    private(set) var length: Int64 = 0
    private var state = State.head
    private var pending: [UInt8] = []
    /// Of the request that is being read, to be told once its head is out.
    private var isOver = false

    private static let headLimit = 64 << 10

    mutating func take(_ bytes: some Sequence<UInt8>) -> [Piece] {
        pending += bytes
        var pieces: [Piece] = []
        while let piece = next() { pieces.append(piece) }
        return pieces
    }

    private mutating func next() -> Piece? {
        if isOver {
            isOver = false
            return .end
        }
        switch state {
        case .head:
            guard let end = pending.endOfHead else {
                if pending.count > Self.headLimit { state = .endless }
                return nil
            }
            let head = Array(pending[..<end])
            pending.removeFirst(end)
            return begin(head)
        case .length(let left), .chunk(let left):
            guard !pending.isEmpty else { return nil }
            let count = Int(min(left, Int64(pending.count)))
            let body = Array(pending[..<count])
            pending.removeFirst(count)
            advance(by: Int64(count), of: left)
            return .body(body)
        case .chunkSize:
            guard let end = pending.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            let line = Array(pending[...end])
            pending.removeFirst(end + 1)
            let digits = line.prefix { $0 != UInt8(ascii: ";") && $0 > 0x20 }
            guard let size = Int64(String(decoding: digits, as: UTF8.self), radix: 16) else {
                state = .endless
                return .body(line)
            }
            // The line break behind the chunk goes with it.
            state = size == 0 ? .trailer : .chunk(size + 2)
            return .body(line)
        case .trailer:
            guard let end = pending.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            let line = Array(pending[...end])
            pending.removeFirst(end + 1)
            if line.allSatisfy({ $0 == 0x0D || $0 == 0x0A }) { finish() }
            return .body(line)
        case .endless:
            guard !pending.isEmpty else { return nil }
            let body = pending
            pending = []
            return .body(body)
        }
    }

    private mutating func begin(_ head: [UInt8]) -> Piece {
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        var length: Int64 = 0
        var isChunked = false
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let value = parts[1].drop { $0 == " " }
            switch parts[0].lowercased() {
            case "content-length": length = Int64(value) ?? 0
            case "transfer-encoding": isChunked = value.lowercased().hasSuffix("chunked")
            default: break
            }
        }
        self.length = isChunked ? -1 : length
        if isChunked {
            state = .chunkSize
        } else if length > 0 {
            state = .length(length)
        } else {
            finish()
        }
        return .head(
            method: String(words.first ?? ""),
            target: words.count > 1 ? String(words[1]) : "",
            bytes: head
        )
    }

    private mutating func advance(by count: Int64, of left: Int64) {
        switch state {
        case .length where count == left: finish()
        case .length: state = .length(left - count)
        case .chunk where count == left: state = .chunkSize
        case .chunk: state = .chunk(left - count)
        default: break
        }
    }

    private mutating func finish() {
        state = .head
        isOver = true
    }
}

extension [UInt8] {
    /// Behind the first empty line.
    fileprivate var endOfHead: Int? {
        guard count >= 4 else { return nil }
        for index in 0...(count - 4)
        where self[index] == 0x0D && self[index + 1] == 0x0A && self[index + 2] == 0x0D
            && self[index + 3] == 0x0A
        {
            return index + 4
        }
        return nil
    }
}
