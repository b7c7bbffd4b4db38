import Bucket
import CommandLineKit
import Replica
import Replication

/// Options that mean the same in every verb.
enum CommonOptions {
    static let json = Flag("json", help: "print JSON instead of text")

    static let to = Option<BucketAddress>(
        "to",
        bucket: "URL",
        help: "the bucket: a directory, or http(s)://host:port/db/NAME of a sink"
    )

    static let checkpointPages = Option<UInt32>(
        "checkpoint-pages",
        "N",
        in: 1...1_000_000,
        help: "pages in the WAL from which it is copied back (default 1000)"
    )

    static let pin = Option<PinMode>(
        "pin",
        choice: "MODE",
        help: "hold: nobody else can finish a checkpoint (default); "
            + "yield: nothing is held between syncs, for an application that checkpoints itself"
    )

    static let onConflict = Option<ConflictPolicy>(
        "on-conflict",
        choice: "POLICY",
        help: "when the bucket is not as it was left: rebase: go on from what it holds (default); "
            + "stop: change nothing and say so"
    )

    static let spool = Option<String>(
        "spool",
        "DIR",
        help: "the directory through which files are handed over to dormouse transfer"
    )

    static let replication: [any DeclaredOption] = [checkpointPages, pin, onConflict]

    /// The options of a replicator from those above.
    static func replicatorOptions(_ arguments: Arguments) -> ReplicatorOptions {
        var options = ReplicatorOptions()
        if let pages = arguments[checkpointPages] { options.checkpointFrames = pages }
        if let mode = arguments[pin] { options.pin = mode }
        if let policy = arguments[onConflict] { options.onConflict = policy }
        return options
    }
}
