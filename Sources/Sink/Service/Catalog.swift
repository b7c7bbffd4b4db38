import Bucket
import DurableFiles
import Replica
import SQLiteBridge
import Wire

/// The databases of a sink that were asked for so far.
///
/// A thousand of them share a few threads.
final class Catalog: Sendable {
    private let options: SinkOptions
    private let diverging = Lock<(@Sendable (DatabaseName) -> Void)?>(nil)
    private let databases = Lock<[DatabaseName: SinkDatabase]>([:])
    private let threads: [SerialThreadExecutor]
    /// Mirrors block theirs on disk and checks, and no push may wait for that.
    private let mirrorThreads: [SerialThreadExecutor]

    init(_ options: SinkOptions) {
        self.options = options
        threads = (0..<4).map { _ in SerialThreadExecutor() }
        mirrorThreads = (0..<4).map { _ in SerialThreadExecutor() }
    }

    /// A database that is there; `nil` when nothing was ever written to it.
    func existing(_ name: DatabaseName) -> SinkDatabase? {
        if let known = databases.withLock({ $0[name] }) { return known }
        // One look at a directory, once a database: not worth a thread.
        let directory = Path.join(options.data, name.description)
        guard (try? FileStatus.ofEntry(directory)?.isDirectory) == true else { return nil }
        let database = open(name)
        Task { await database.startFound() }
        return database
    }

    /// A database that was asked for before.
    func known(_ name: DatabaseName) -> SinkDatabase? { databases.withLock { $0[name] } }

    /// A database to write to, which may be new.
    func open(_ name: DatabaseName) -> SinkDatabase {
        databases.withLock { databases in
            if let known = databases[name] { return known }
            let database = make(name)
            databases[name] = database
            return database
        }
    }

    private func make(_ name: DatabaseName) -> SinkDatabase {
        let directory = Path.join(options.data, name.description)
        let bucket = DirectoryBucket(Path.join(directory, "bucket"))
        // Any spread will do, as long as it is the same in every run.
        let number = name.description.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF }
        var mirrorOptions = Mirror.Options()
        mirrorOptions.now = options.now
        mirrorOptions.divergenceChanged = { [diverging] in diverging.withLock { $0 }?(name) }
        let mirror = Mirror(
            path: Path.join(directory, "mirror.sqlite"),
            bucket: bucket,
            executor: mirrorThreads[number % mirrorThreads.count],
            options: mirrorOptions
        )
        var databaseOptions = SinkDatabase.Options(now: options.now)
        databaseOptions.leaseDuration = options.leaseDuration
        databaseOptions.pingInterval = options.pingInterval
        databaseOptions.uploadLimits.maxSize = options.maxUpload
        databaseOptions.uploadLimits.maxCount = options.maxUploads
        databaseOptions.diskGuard = options.diskGuard
        databaseOptions.opened = { [report = options.report] in
            report(.opened(database: name.description))
        }
        return SinkDatabase(
            name,
            directory: directory,
            live: mirror,
            executor: threads[number % threads.count],
            options: databaseOptions
        )
    }

    /// Opens what earlier processes left, so that mirrors catch up without being asked for.
    func openAll() throws(FileError) {
        for entry in try DurableFiles.list(options.data) {
            guard let name = DatabaseName(entry) else { continue }
            _ = existing(name)
        }
    }

    /// Says who is told when a live copy begins or ends to differ from its source.
    func whenDiverging(_ body: @escaping @Sendable (DatabaseName) -> Void) {
        diverging.withLock { $0 = body }
    }

    var all: [SinkDatabase] { databases.withLock { Array($0.values) } }
}
