/// Reads the lines of an answer's head, interim answers (1xx) left out.
package struct HeadReader {
    /// No head is larger.
    static let limit = 64 << 10

    package enum Step: Equatable {
        case more
        /// The head of the final answer is complete.
        case complete
        case malformed(String)
    }

    package private(set) var response = HTTPResponse(status: 0)
    private(set) var isComplete = false
    private var size = 0

    package init() {}

    /// Takes one line, with or without its line end.
    package mutating func take(_ line: UnsafeRawBufferPointer) -> Step {
        // Behind the head come trailers, which nobody here sends or needs.
        if isComplete { return .more }
        size += line.count
        guard size <= Self.limit else { return .malformed("the answer's head is too large") }
        let text = String(decoding: line, as: UTF8.self)
        let trimmed = Self.trimming(text[...])
        if trimmed.isEmpty {
            guard response.status >= 200 else {
                response = HTTPResponse(status: 0)
                return .more
            }
            isComplete = true
            return .complete
        }
        if response.status == 0 { return takeStatus(trimmed) }
        guard let colon = trimmed.firstIndex(of: ":"), colon > trimmed.startIndex,
            text.first != " ", text.first != "\t"
        else { return .malformed("a header line is malformed") }
        response.headers.append(
            String(trimmed[..<colon]),
            String(Self.trimming(trimmed[trimmed.index(after: colon)...]))
        )
        return .more
    }

    private mutating func takeStatus(_ line: Substring) -> Step {
        let words = line.split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0].hasPrefix("HTTP/"), words[1].utf8.count == 3,
            let status = Int(words[1]), status >= 100,
            let version = words[0].dropFirst(5).first?.wholeNumberValue
        else { return .malformed("the status line is malformed") }
        response.status = status
        response.majorVersion = version
        return .more
    }

    private static func trimming(_ text: Substring) -> Substring {
        var text = text
        while let last = text.last, last.isWhitespace { text.removeLast() }
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        return text
    }
}
