import Foundation
import Telemetry
import TestSupport
import Testing

@Suite("the service manager", .serialized)
struct NotifyTests {
    @Test("without a service manager nothing is sent and nothing fails")
    func alone() {
        unsetenv("NOTIFY_SOCKET")
        #expect(!Notify.ready("ready"))
        #expect(!Notify.watchdog())
    }

    @Test("states arrive as assignments, and a status cannot smuggle one in")
    func states() throws {
        try withTemporaryDirectory { directory in
            let path = directory.appending(path: "notify").path
            let socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            defer { close(socket) }
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let bound = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            try #require(bound == 0, "\(String(cString: strerror(errno)))")
            func received() -> String {
                var buffer = [UInt8](repeating: 0, count: 4_096)
                let size = recv(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT))
                return String(decoding: buffer.prefix(max(0, size)), as: UTF8.self)
            }
            setenv("NOTIFY_SOCKET", path, 1)
            defer { unsetenv("NOTIFY_SOCKET") }
            #expect(Notify.ready("collecting"))
            #expect(received() == "READY=1\nSTATUS=collecting")
            #expect(Notify.status("a\nSTOPPING=1"))
            #expect(received() == "STATUS=a STOPPING=1")
            #expect(Notify.stopping("final sync"))
            #expect(received() == "STOPPING=1\nSTATUS=final sync")
            #expect(Notify.watchdog())
            #expect(received() == "WATCHDOG=1")
            #expect(Notify.extendTimeout(by: .seconds(5)))
            #expect(received() == "EXTEND_TIMEOUT_USEC=5000000")
        }
    }
}
