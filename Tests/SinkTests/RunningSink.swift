import Foundation
import Sink
import TestSupport

/// A sink in this process, on a free port of loopback.
struct RunningSink {
    let server: SinkServer
    let options: SinkOptions
    var port: UInt16 { server.address.port }
}

/// Runs a body beside a sink, which is stopped afterwards.
func withRunningSink<R>(
    isolation: isolated (any Actor)? = #isolation,
    _ change: (inout SinkOptions) -> Void = { _ in },
    _ body: (RunningSink) async throws -> R
) async throws -> R {
    try await withTemporaryDirectory { directory in
        var options = SinkOptions(
            data: directory.appending(path: "data").path,
            listen: SinkAddress(host: "127.0.0.1", port: 0)
        )
        change(&options)
        let server = try await SinkServer.start(options)
        do {
            let result = try await body(RunningSink(server: server, options: options))
            await server.shutDown(within: .seconds(10))
            return result
        } catch {
            await server.shutDown(within: .zero)
            throw error
        }
    }
}
