public import Foundation
public import Testing

/// The real programs that our files are checked with, in the releases that `scripts/test` pins.
///
/// Give a test that needs them `.enabled(if: Peers.areInstalled, Peers.missing)`: without them it
/// is skipped in plain sight, and `peersArePresentInCI` makes that a failure in CI.
public enum Peers {
    /// Where the peers' programs are: `DORMOUSE_PEERS`, or the project's own `.venv/bin`.
    public static let directory: URL =
        if let path = ProcessInfo.processInfo.environment["DORMOUSE_PEERS"], !path.isEmpty {
            URL(filePath: path, directoryHint: .isDirectory)
        } else {
            Shared.project.appending(path: ".venv/bin", directoryHint: .isDirectory)
        }

    /// Litestream, the reference for everything in a bucket.
    public static let litestream = directory.appending(path: "litestream")

    /// Agrees, or does not, on which pages differ between two databases.
    public static let sqlite3Rsync = directory.appending(path: "sqlite3_rsync")

    /// A Python that can `import apsw`, which carries a newer SQLite than the system's.
    public static let python = directory.appending(path: "python")

    /// The peers that are not there.
    public static let absent: [URL] = [litestream, sqlite3Rsync, python].filter {
        !FileManager.default.isExecutableFile(atPath: $0.path)
    }

    public static let areInstalled = absent.isEmpty

    /// What to say when they are not.
    public static let missing: Comment =
        "the peers are not installed: run scripts/test, which puts them into .venv"
}
