import Collector
import Foundation
import SQLiteBridge
import TestSupport
import Testing

@Suite("Cost of a flush")
struct FlushCostTests {
    @Test("a day of default flushes dirties about 14 pages a flush and writes about 166 MB of WAL")
    func simulatedDay() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            let seed: UInt64 = 20_260_302
            let collector = try await Collector.open(
                path: path,
                streams: StreamDefinition.simulatedStrap(seed: seed),
                now: monday
            )
            func walSize() throws -> Int {
                let url = URL(filePath: path + "-wal")
                return try url.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
            }
            // A database a few days old: the first day's few pages are not the usual state.
            var pages = 0
            var walBytes = 0
            var rows = 0
            var longest = Duration.zero
            for flush in 1...3 * 2880 {
                if flush == 2 * 2880 + 1 {
                    let connection = try Connection(path: path)
                    _ = try connection.checkpoint(.truncate)
                    try connection.close()
                }
                let before = flush > 2 * 2880 ? try walSize() : 0
                _ = await collector.pull(upTo: .seconds(flush * 30))
                let report = try await collector.flush()
                guard flush > 2 * 2880 else { continue }
                pages += report.pages
                rows += report.inserted
                longest = max(longest, report.duration)
                let written = try walSize() - before
                walBytes += written
                // The count of the cache is the count of the frames.
                let header = before == 0 ? 32 : 0
                #expect(written == report.pages * (24 + 4096) + header)
            }
            try await collector.close()
            let perFlush = Double(pages) / 2880
            let megabytes = Double(walBytes) / 1_000_000
            print(
                """
                flush cost, seed \(seed): \(rows) rows a day, \
                \(String(format: "%.2f", perFlush)) dirty pages a flush (peers' shape: 14), \
                \(String(format: "%.1f", megabytes)) MB of WAL a day (peers' shape: 166), \
                longest flush \(longest)
                """
            )
            #expect((12.0...16.0).contains(perFlush))
            #expect((145.0...190.0).contains(megabytes))
        }
    }
}
