import Foundation
import Lifecycle
import TestSupport
import Testing

@Suite("The control socket", .timeLimit(.minutes(1)))
struct ControlTests {
    @Test(
        "a request is what it was written as",
        arguments: [
            ControlRequest.status, .push, .checkpoint, .foreground, .background, .extend,
            .lowPower(true), .lowPower(false), .metered(true), .metered(false), .reload,
        ]
    )
    func requests(request: ControlRequest) throws {
        #expect(try ControlRequest(request.line) == request)
        #expect(try ControlRequest("  " + request.line.replacing(" ", with: "\t ")) == request)
    }

    @Test(
        "anything else is refused with what there is",
        arguments: [
            "", "stat", "push now", "low-power", "low-power maybe", "metered ON", "\u{1}\u{2}",
            String(repeating: "x", count: 500),
        ]
    )
    func unknown(line: String) {
        let error = #expect(throws: ControlRequest.Unknown.self) { try ControlRequest(line) }
        #expect(error.map { "\($0)" }?.contains("low-power on|off") == true)
        #expect((error?.line.count ?? 0) <= 40)
    }

    @Test("lines come in as events, and their answers go back", arguments: [10, 180])
    func answers(depth: Int) async throws {
        try await withTemporaryDirectory { directory in
            // Longer than an address of the system's can be.
            let nested = directory.appending(path: String(repeating: "d", count: depth))
            try FileManager.default.createDirectory(at: nested, withIntermediateDirectories: true)
            let path = nested.appending(path: "control").path
            let events = try EventSource(database: nil)
            try await events.listen(at: path)
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
            #expect(mode as? Int == 0o600)
            async let answer = ask(.lowPower(true), at: path)
            guard case .asked(let line, by: let peer) = try await events.next(changes: false) else {
                Issue.record("no request")
                return
            }
            #expect(line == "low-power on")
            await events.answer(peer, "{\"ok\":true}")
            #expect(try await answer == "{\"ok\":true}")
            await events.stopListening()
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test("one that another process listens at is refused, a dead one is replaced")
    func taken() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "control").path
            let first = try EventSource(database: nil)
            try await first.listen(at: path)
            let second = try EventSource(database: nil)
            await #expect(throws: ControlSocketTaken.self) { try await second.listen(at: path) }
            await first.stopListening()
            // What a killed process leaves.
            let raw = try leftover(path)
            close(raw)
            #expect(throws: ControlClient.Unreachable.self) { _ = try ControlClient(path: path) }
            try await second.listen(at: path)
            await second.stopListening()
        }
    }

    @Test("who sends garbage, too much or nothing holds up nobody")
    func garbage() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "control").path
            let events = try EventSource(database: nil)
            try await events.listen(at: path)
            let silent = try connected(path)
            let endless = try connected(path)
            let bytes = [UInt8](repeating: 0x78, count: 4_096)
            #expect(send(endless, bytes, bytes.count, Int32(MSG_NOSIGNAL)) > 0)
            async let answer = ask(.status, at: path)
            guard case .asked(let line, by: let peer) = try await events.next(changes: false) else {
                Issue.record("no request")
                return
            }
            #expect(line == "status")
            await events.answer(peer, "{\"ok\":true}")
            #expect(try await answer == "{\"ok\":true}")
            // The endless one was dropped: that is the end of its stream, or a reset.
            var byte: UInt8 = 0
            #expect(recv(endless, &byte, 1, 0) <= 0)
            await events.stopListening()
            #expect(recv(silent, &byte, 1, 0) == 0)
            close(silent)
            close(endless)
        }
    }

    /// Asks from a thread of its own: waiting for an answer blocks.
    private func ask(_ request: ControlRequest, at path: String) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try ControlClient(path: path).ask(request) })
            }
        }
    }

    private func leftover(_ path: String) throws -> Int32 {
        let raw = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let result = withAddress(path) { bind(raw, $0, $1) }
        try #require(result == 0)
        return raw
    }

    private func connected(_ path: String) throws -> Int32 {
        let raw = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let result = withAddress(path) { connect(raw, $0, $1) }
        try #require(result == 0)
        return raw
    }

    private func withAddress(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}

@Suite("Locks that this process holds")
struct HeldLockTests {
    @Test("flock and POSIX locks on files of a directory are seen, and their end")
    func seen() throws {
        try withTemporaryDirectory { directory in
            let canonical = try #require(realpath(directory.path, nil).map { String(cString: $0) })
            let path = canonical + "/file"
            let raw = open(path, O_RDWR | O_CREAT, 0o600)
            #expect(try HeldLock.all(in: canonical).isEmpty)
            #expect(flock(raw, LOCK_EX) == 0)
            #expect(try HeldLock.all(in: canonical) == [HeldLock(path: path, kind: "FLOCK WRITE")])
            var lock = flock()
            lock.l_type = Int16(F_RDLCK)
            lock.l_whence = Int16(SEEK_SET)
            #expect(fcntl(raw, F_SETLK, &lock) == 0)
            #expect(
                try HeldLock.all(in: canonical).map(\.kind) == ["FLOCK WRITE", "POSIX READ"]
            )
            #expect(try HeldLock.all(in: canonical + "/elsewhere").isEmpty)
            close(raw)
            #expect(try HeldLock.all(in: canonical).isEmpty)
        }
    }
}
