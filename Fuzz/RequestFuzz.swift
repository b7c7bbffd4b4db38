// Compiled together with the sources of Wire by `scripts/fuzz request`; not part of the package.
import LTXCodec

/// Reads an input as everything that comes over the wire as text, and stops the process where an
/// answer contradicts another: what was understood must say the same when it is written and read
/// again.
@_cdecl("LLVMFuzzerTestOneInput")
public func requestFuzz(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let bytes = Array(UnsafeRawBufferPointer(start: data, count: data == nil ? 0 : size))
    let text = String(decoding: bytes, as: UTF8.self)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    for line in lines {
        route(line)
        header(line)
        if let listed = ListingLine(line) { expect(ListingLine("\(listed)") == listed) }
        if let frame = StreamFrame(line) {
            expect(StreamFrame(frame.line.dropLast()) == frame)
        }
    }
    upload(lines)
    _ = Listing.lines(bytes)
    stream(bytes)
    return 0
}

private func route(_ line: String) {
    let parts = line.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = String(parts[0])
    let query = parts.count > 1 ? String(parts[1]) : ""
    guard let route = try? Route(path: path, query: query) else { return }
    guard case .database(let name, let wanted) = route else { return }
    // A name becomes a directory.
    expect(!"\(name)".contains("/") && !"\(name)".contains(".") && !"\(name)".isEmpty)
    let target = "/db/\(name)" + wanted.target
    let again = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let second = try? Route(
        path: String(again[0]),
        query: again.count > 1 ? String(again[1]) : ""
    )
    expect(second == route)
}

private func header(_ line: String) {
    if let value = StructuredField.integer(line) { expect(value >= -999_999_999_999_999) }
    _ = StructuredField.boolean(line)
    if let limits = UploadLimits(line) { expect((limits.maxSize ?? 0) >= 0) }
    if let id = UploadID(line) { expect("\(id)" == line) }
    if let token = try? BearerToken(line) { expect(token.matches(line)) }
}

private func upload(_ lines: [String]) {
    let names = [
        WireHeader.uploadInterop, WireHeader.uploadComplete, WireHeader.uploadOffset,
        WireHeader.uploadLength, "content-type",
    ]
    let headers = UploadHeaders { name in
        names.firstIndex(of: name).flatMap { $0 < lines.count ? lines[$0] : nil }
    }
    let length = lines.count > names.count ? Int64(lines[names.count]) : nil
    _ = try? UploadCreation(headers, contentLength: length)
}

private func stream(_ bytes: [UInt8]) {
    // However it is cut, it says the same.
    let whole = parts([bytes])
    let pieces = stride(from: 0, to: bytes.count, by: 7).map {
        Array(bytes[$0..<min(bytes.count, $0 + 7)])
    }
    expect(parts(pieces) == whole)
}

/// The frames of a stream, and how many bytes they brought.
private func parts(_ pieces: [[UInt8]]) -> String {
    var decoder = StreamDecoder()
    var said: [String] = []
    var bytes = 0
    do {
        for piece in pieces {
            decoder.append(piece)
            while let part = try decoder.next() {
                switch part {
                case .frame(let frame): said.append(frame.line)
                case .bytes(let some): bytes += some.count
                }
            }
        }
    } catch {
        said.append("malformed")
    }
    return said.joined() + "\(bytes)"
}

/// Stops the process and says where, in optimized builds too.
private func expect(_ condition: Bool, line: UInt = #line) {
    guard condition else { fatalError("the condition of line \(line) does not hold") }
}
