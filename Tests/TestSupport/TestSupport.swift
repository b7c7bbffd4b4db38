public import Foundation
public import Testing

/// The team's shared material beside the project, which some tests read.
///
/// `../shared` seen from the project's root. Tests that need it are skipped in plain sight when
/// it is not there: give them `.enabled(if: Shared.isPresent, Shared.missing)`.
public enum Shared {
    /// The project's root directory.
    public static let project = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    public static let root = project.deletingLastPathComponent().appending(path: "shared")
    public static let golden = root.appending(path: "golden")
    public static let data = root.appending(path: "data")

    public static let isPresent = FileManager.default.fileExists(
        atPath: golden.appending(path: "MANIFEST.json").path
    )

    /// What to say when it is not there.
    public static let missing: Comment =
        "../shared/golden is missing: put the team's shared directory beside the project"
}

/// Makes a directory, runs the body and removes the directory, whatever happened.
public func withTemporaryDirectory<R>(_ body: (URL) throws -> R) throws -> R {
    let url = try makeTemporaryDirectory()
    defer { try? FileManager.default.removeItem(at: url) }
    return try body(url)
}

/// Makes a directory, runs the body and removes the directory, whatever happened.
public func withTemporaryDirectory<R>(
    isolation: isolated (any Actor)? = #isolation,
    _ body: (URL) async throws -> R
) async throws -> R {
    let url = try makeTemporaryDirectory()
    defer { try? FileManager.default.removeItem(at: url) }
    return try await body(url)
}

private func makeTemporaryDirectory() throws -> URL {
    let url = FileManager.default.temporaryDirectory
        .appending(path: "dormouse-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    return url
}

/// A generator whose numbers depend on its seed alone (SplitMix64), so that a failure replays.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) {
        state = seed
    }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
