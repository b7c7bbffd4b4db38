import Configuration
import DurableFiles

/// Watches the size of a file for as long as a run takes.
final class WALSampler: Sendable {
    private let task: Task<[Story.Level], Never>

    init(_ path: String, _ book: RecordBook, every step: Duration) {
        task = Task {
            var levels: [Story.Level] = []
            while !Task.isCancelled {
                let size = (try? FileStatus.of(path))?.sizeInBytes ?? 0
                if levels.last?.bytes != size {
                    levels.append(Story.Level(at: book.now, bytes: size))
                }
                try? await Task.sleep(for: step)
            }
            return levels
        }
    }

    func cancel() { task.cancel() }

    func finished() async -> [Story.Level] {
        task.cancel()
        return await task.value
    }
}

extension ChaosRun {
    func sampler() -> WALSampler {
        WALSampler(config.database + "-wal", book, every: .milliseconds(20))
    }
}
