import Foundation
import TestSupport
import Testing

@Suite("Stories: a sink and its service manager")
struct SinkServiceStories {
    @Test("the manager hears that it is ready, time after time that it gets on, and that it ends")
    func notified() async throws {
        try await withTemporaryDirectory { directory in
            let manager = try NotifySocket(directory.appending(path: "notify").path)
            let sink = try await SinkProcess(
                data: directory.appending(path: "sink"),
                environment: ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "900000"]
            )
            try await withChild(sink.child) { _ in
                try manager.wait(for: "READY=1")
                // Within its limit each time, or the manager would shoot it.
                for _ in 1...4 { try manager.wait(for: "WATCHDOG=1", within: 1) }
                try manager.wait(for: "STATUS=listening on")
                sink.child.send(SIGHUP)
                try manager.wait(for: "RELOADING=1")
                try manager.wait(for: "READY=1")
                #expect(try await sink.stop() == 0)
                try manager.wait(for: "STOPPING=1")
            }
        }
    }
}
