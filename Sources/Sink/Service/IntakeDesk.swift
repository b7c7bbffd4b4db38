import DurableFiles
import LTXCodec
import SQLiteBridge
import Wire

/// Gives threads to uploads that are read while they arrive.
///
/// A slow client must not keep a thread for as long as its upload is kept: one that has not moved
/// for a while gives way. Who gets none is read when all of it is there.
final class IntakeDesk: Sendable {
    private static let limit = 4
    private static let patience = Duration.seconds(60)

    private let intakes = Lock<[FileIntake]>([])

    /// Starts one, if there is a thread for it.
    ///
    /// - Parameter make: Makes it.
    /// - Returns: What was made; `nil` while others need all threads.
    func begin(_ make: () -> FileIntake) -> FileIntake? {
        let begun = intakes.withLock { intakes -> FileIntake? in
            if intakes.count >= Self.limit {
                let oldest = intakes.min { $0.movedAt < $1.movedAt }
                guard let oldest, .now - oldest.movedAt > Self.patience else { return nil }
                oldest.cancel()
                intakes.removeAll { $0 === oldest }
            }
            let intake = make()
            intakes.append(intake)
            return intake
        }
        guard let begun else { return nil }
        let thread = IntakeThread()
        Task {
            await thread.run(begun)
            intakes.withLock { intakes in intakes.removeAll { $0 === begun } }
        }
        return begun
    }
}

/// The thread of one.
private actor IntakeThread {
    private nonisolated let executor = SerialThreadExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    func run(_ intake: FileIntake) {
        intake.run()
    }
}

extension SinkService {
    /// Lets a file be read while it arrives, if it is large and its name makes it one.
    func readWhileItComes(
        _ id: UploadID,
        _ database: SinkDatabase,
        length: Int64?
    ) async throws {
        let store = try await database.uploads()
        guard try store.follower(of: id) == nil else { return }
        let order = try store.order(of: id)
        let parts = order.target.split(separator: "?", maxSplits: 1)
        guard let length = order.length ?? length, length >= FileIntake.smallest,
            case .database(_, .file(let level, let name, _, _))? = try? Route(
                path: String(parts[0]),
                query: parts.count > 1 ? String(parts[1]) : ""
            )
        else { return }
        var staging: FileIntake.Staging?
        if name.isSnapshot, database.live.takesImages {
            let options = options
            staging = FileIntake.Staging(path: spool.newPath()) { size in
                let (incoming, overflow) = size.addingReportingOverflow(length)
                let decision = try? options.diskGuard.decision(
                    at: options.data,
                    incoming: incoming
                )
                return !overflow && decision == .ok
            }
        }
        let intakes = intakes
        let offer = OfferedFile(level: level, name: name)
        try store.follow(id) { path in
            intakes.begin { FileIntake(offer, at: path, staging: staging) }
        }
    }
}
