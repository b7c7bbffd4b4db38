import Foundation
import Glibc
import Synchronization

/// Runs a body that blocks on a thread of its own, so that it takes nobody's place.
func blocking<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
            continuation.resume(with: Result { try body() })
        }
    }
}

/// What a server answered.
struct RawResponse: Sendable {
    var status = 0
    /// By lower-case name.
    var headers: [String: String] = [:]
    var body: [UInt8] = []
    /// The body came to the end that was promised.
    var isWhole = false

    var text: String { String(decoding: body, as: UTF8.self) }
}

/// A client of the v1 protocol as its specification has it, over a socket: no library between.
///
/// Calls block.
final class RawClient {
    struct Failure: Error {
        var what: String
        var code = errno
    }

    private let socket: Int32
    private var buffer: [UInt8] = []
    private(set) var isAtEnd = false

    init(_ port: UInt16) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard socket >= 0 else { throw Failure(what: "socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            let code = errno
            Glibc.close(socket)
            throw Failure(what: "connect", code: code)
        }
        // Only so that a test which fails does so one day.
        var time = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit {
        close(socket)
    }

    func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    func send(_ bytes: [UInt8]) throws {
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure(what: "send") }
            done += count
        }
    }

    /// Ends our side; answers can still come.
    func endSending() {
        shutdown(socket, Int32(SHUT_WR))
    }

    /// Reads more bytes; `false` at the end.
    @discardableResult
    func fill() throws -> Bool {
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(socket, &bytes, bytes.count, 0)
        guard count >= 0 else { throw Failure(what: "recv") }
        buffer += bytes[..<count]
        if count == 0 { isAtEnd = true }
        return count > 0
    }

    /// A line without its end; `nil` at the end of the connection.
    func line() throws -> String? {
        while true {
            if let end = buffer.firstIndex(of: 0x0A) {
                var line = buffer[..<end]
                if line.last == 0x0D { line = line.dropLast() }
                let text = String(decoding: line, as: UTF8.self)
                buffer.removeFirst(end + 1)
                return text
            }
            guard try fill() else { return nil }
        }
    }

    func take(_ count: Int) throws -> [UInt8]? {
        while buffer.count < count {
            guard try fill() else { return nil }
        }
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    /// The status and the headers; 100 is passed over.
    func head() throws -> RawResponse? {
        var response = RawResponse()
        repeat {
            guard let status = try line() else { return nil }
            let words = status.split(separator: " ")
            guard words.count >= 2, words[0] == "HTTP/1.1", let code = Int(words[1]) else {
                throw Failure(what: "no status line: \(status)")
            }
            response.status = code
            while let line = try line(), !line.isEmpty {
                let parts = line.split(separator: ":", maxSplits: 1)
                guard parts.count == 2 else { continue }
                response.headers[parts[0].lowercased()] = parts[1].trimmingCharacters(
                    in: .whitespaces
                )
            }
        } while response.status == 100
        return response
    }

    /// One chunk; empty for the last one, `nil` when the connection ended before it.
    func chunk() throws -> [UInt8]? {
        guard let line = try line(), let size = Int(line.prefix { $0 != ";" }, radix: 16) else {
            return nil
        }
        if size == 0 {
            _ = try self.line()
            return []
        }
        guard let bytes = try take(size) else { return nil }
        _ = try self.line()
        return bytes
    }

    /// A whole answer; `nil` when the connection ends without one.
    func response(to method: String = "GET") throws -> RawResponse? {
        guard var response = try head() else { return nil }
        if method == "HEAD" || response.status == 204 {
            response.isWhole = true
        } else if response.headers["transfer-encoding"] == "chunked" {
            while let chunk = try chunk() {
                if chunk.isEmpty {
                    response.isWhole = true
                    break
                }
                response.body += chunk
            }
        } else if let length = response.headers["content-length"].flatMap({ Int($0) }) {
            if let bytes = try take(length) {
                response.body = bytes
                response.isWhole = true
            }
        }
        return response
    }

    func request(
        _ method: String,
        _ target: String,
        _ headers: [String] = [],
        body: [UInt8]? = nil
    ) throws -> RawResponse {
        var text = "\(method) \(target) HTTP/1.1\r\nhost: sink\r\n"
        for header in headers { text += header + "\r\n" }
        if let body { text += "content-length: \(body.count)\r\n" }
        try send(text + "\r\n")
        if let body { try? send(body) }
        guard let response = try response(to: method) else { throw Failure(what: "no answer") }
        return response
    }
}

extension RawClient {
    /// One request on a connection of its own.
    static func once(
        _ port: UInt16,
        _ method: String,
        _ target: String,
        _ headers: [String] = [],
        body: [UInt8]? = nil
    ) async throws -> RawResponse {
        try await blocking {
            try RawClient(port).request(method, target, headers, body: body)
        }
    }
}
