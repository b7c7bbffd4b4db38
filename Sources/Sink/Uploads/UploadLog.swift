import DurableFiles
import Glibc
import LTXCodec
import Wire

/// The durable state of one upload: what was ordered, and then a line for each thing that happened.
///
/// Each line carries a checksum of itself, so that a line which a power cut tore counts as not
/// written. An offset is written after the `fsync` of the bytes before it, never earlier: the
/// length of the part file alone proves nothing after a power cut.
struct UploadLog: Sendable {
    private static let magic = "dormouse-upload 1"
    private static let sizeLimit = 1 << 20
    /// Of a longer one only what still holds is kept: an upload may come in any number of parts.
    private static let keptLimit: Int64 = 256 << 10

    enum Event: Equatable {
        case offset(Int64)
        case length(Int64)
        case complete
        case answer(UploadAnswer)
    }

    let path: String
    private(set) var order: UploadOrder
    /// Bytes that are durable.
    private(set) var offset: Int64 = 0
    /// The client has said that it is whole.
    private(set) var isComplete = false
    private(set) var answer: UploadAnswer?
    /// Where the next line goes: a torn one is written over.
    private var end: Int64

    /// Makes the file; durable on return.
    init(creating path: String, order: UploadOrder) throws(FileError) {
        let text = Self.text(of: order)
        let file = try DurableFile(path, mode: 0o600)
        try file.write(text)
        try file.publish()
        self.path = path
        self.order = order
        end = Int64(text.utf8.count)
    }

    /// Reads the file; `nil` when there is none or it is not to be understood.
    init?(reading path: String) throws(FileError) {
        guard let bytes = try DurableFiles.read(path, limit: Self.sizeLimit) else { return nil }
        var lines = LogLines(bytes)
        guard lines.next() == Self.magic, let order = Self.order(from: &lines) else { return nil }
        self.path = path
        self.order = order
        end = Int64(lines.position)
        while let line = lines.next(), let event = Self.event(line) {
            apply(event)
            end = Int64(lines.position)
        }
    }

    /// Appends a line; durable on return.
    mutating func record(_ event: Event) throws(FileError) {
        var line = Self.sealed(Self.text(of: event)) + "\n"
        let file = try FileDescriptor(path, O_WRONLY)
        let position = end
        let outcome: Result<Void, FileError> = line.withUTF8 { bytes in
            do throws(FileError) {
                return .success(try file.write(UnsafeRawBufferPointer(bytes), at: position))
            } catch {
                return .failure(error)
            }
        }
        try outcome.get()
        try file.sync()
        end += Int64(line.utf8.count)
        apply(event)
        if end > Self.keptLimit { try shorten() }
    }

    /// Writes the file anew, with the last of each thing that happened.
    private mutating func shorten() throws(FileError) {
        var events: [Event] = [.offset(offset)]
        if isComplete { events.append(.complete) }
        if let answer { events.append(.answer(answer)) }
        let lines = events.map { Self.sealed(Self.text(of: $0)) + "\n" }
        let text = Self.text(of: order) + lines.joined()
        let file = try DurableFile(path, mode: 0o600)
        try file.write(text)
        try file.publish()
        end = Int64(text.utf8.count)
    }

    private mutating func apply(_ event: Event) {
        switch event {
        case .offset(let value): offset = max(offset, value)
        case .length(let value): order.length = value
        case .complete: isComplete = true
        case .answer(let value): answer = value
        }
    }
}

extension UploadLog {
    private static func text(of order: UploadOrder) -> String {
        var lines = [
            magic, sealed("method \(order.method)"), sealed("target \(order.target)"),
            sealed("dialect \(order.dialect.interopVersion.map { "\($0)" } ?? "-")"),
            sealed("length \(order.length.map { "\($0)" } ?? "-")"),
        ]
        for header in order.headers {
            lines.append(sealed("header \(header.name) \(header.value)"))
        }
        lines.append(sealed("begin"))
        return lines.joined(separator: "\n") + "\n"
    }

    private static func order(from lines: inout LogLines) -> UploadOrder? {
        guard let method = value("method", lines.next()),
            let target = value("target", lines.next()),
            let dialectText = value("dialect", lines.next()),
            let dialect = UploadDialect(header: dialectText == "-" ? nil : dialectText),
            let lengthText = value("length", lines.next())
        else { return nil }
        var order = UploadOrder(method: method, target: target, dialect: dialect)
        if lengthText != "-" {
            guard let length = Int64(lengthText), length >= 0 else { return nil }
            order.length = length
        }
        while let line = lines.next(), let text = unsealed(line) {
            if text == "begin" { return order }
            guard let header = value("header", line), let space = header.firstIndex(of: " ") else {
                return nil
            }
            let name = String(header[..<space])
            let value = String(header[header.index(after: space)...])
            order.headers.append(UploadOrder.Header(name: name, value: value))
        }
        return nil
    }

    private static func text(of event: Event) -> String {
        switch event {
        case .offset(let value): "offset \(value)"
        case .length(let value): "length \(value)"
        case .complete: "complete"
        case .answer(let answer):
            "answer \(answer.status) \(hex(answer.mediaType)) \(hex(answer.body))"
        }
    }

    private static func event(_ line: String) -> Event? {
        guard let words = unsealed(line)?.split(separator: " ", omittingEmptySubsequences: false)
        else { return nil }
        switch (words.first, words.count) {
        case ("offset", 2): return Int64(words[1]).map { .offset($0) }
        case ("length", 2): return Int64(words[1]).map { .length($0) }
        case ("complete", 1): return .complete
        case ("answer", 4):
            guard let status = Int(words[1]), let type = text(hex: words[2]),
                let body = text(hex: words[3])
            else { return nil }
            return .answer(UploadAnswer(status: status, mediaType: type, body: body))
        default: return nil
        }
    }

    /// The text behind a sealed line's first word.
    private static func value(_ word: String, _ line: String?) -> String? {
        guard let text = line.flatMap(unsealed), text.hasPrefix(word + " ") else { return nil }
        return String(text.dropFirst(word.count + 1))
    }

    private static func sealed(_ text: String) -> String {
        "\(text) \(checksum(of: text))"
    }

    private static func unsealed(_ line: String) -> String? {
        guard let space = line.lastIndex(of: " ") else { return nil }
        let text = String(line[..<space])
        return checksum(of: text) == line[line.index(after: space)...] ? text : nil
    }

    private static func checksum(of text: String) -> String {
        var crc = CRC64()
        Array(text.utf8).withUnsafeBytes { crc.update($0) }
        return Checksum(rawValue: crc.value).description
    }

    private static func hex(_ text: String) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let bytes = text.utf8.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return "x" + String(decoding: bytes, as: UTF8.self)
    }

    private static func text(hex: some StringProtocol) -> String? {
        guard hex.hasPrefix("x") else { return nil }
        let digits = Array(hex.utf8.dropFirst())
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            let pair = String(decoding: digits[index..<index + 2], as: UTF8.self)
            guard let byte = UInt8(pair, radix: 16) else { return nil }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The whole lines of a small file, and where the next one begins.
private struct LogLines {
    private let bytes: [UInt8]
    private(set) var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// A line without its line feed; `nil` at the end, or for one that has none.
    mutating func next() -> String? {
        guard let end = bytes[position...].firstIndex(of: 0x0A) else { return nil }
        defer { position = end + 1 }
        return String(decoding: bytes[position..<end], as: UTF8.self)
    }
}
