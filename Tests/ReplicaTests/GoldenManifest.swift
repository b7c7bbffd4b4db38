import Foundation
import TestSupport
import Testing

/// The parts of `../shared/golden/MANIFEST.json` that say what restoring gives.
struct Manifest: Decodable, Sendable {
    let buckets: [Bucket]
    let ltxBad: [SingleFile]
    let ltxOk: [SingleFile]

    struct Bucket: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let path: String
        let newestTxid: String
        let latest: Answer
        let restores: [Answer]
        let timestamps: [Answer]
        let files: [File]

        var testDescription: String { name }
    }

    struct File: Decodable, Sendable {
        let level: Int
        let name: String
        let timestampMs: Int64
    }

    /// What `litestream restore` gave: a database, or an error.
    struct Answer: Decodable, Sendable {
        let txid: String?
        let timestampMs: Int64?
        let sha256: String?
        let size: Int?
        let plan: [String]?
        let error: String?
    }

    /// One LTX file by itself, and the one it continues.
    struct SingleFile: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let file: String
        let standsBehind: String?
        let expect: Expectation
        let litestream: Litestream?
        let facts: Facts?

        struct Expectation: Decodable, Sendable {
            let category: String?
            let alsoFine: [String]?
        }

        struct Litestream: Decodable, Sendable {
            let restoredSha256: String?
        }

        struct Facts: Decodable, Sendable {
            let minTxid: String
            let maxTxid: String
        }

        var testDescription: String { name }
    }

    static let shared: Manifest? = {
        guard Shared.isPresent else { return nil }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        do {
            let data = try Data(contentsOf: Shared.golden.appending(path: "MANIFEST.json"))
            return try decoder.decode(Manifest.self, from: data)
        } catch {
            fatalError("../shared/golden/MANIFEST.json: \(error)")
        }
    }()
}

/// Copies a golden bucket; file times become those of the headers, as in a file replica.
func copyGoldenBucket(_ bucket: Manifest.Bucket, to directory: URL) throws -> URL {
    let root = directory.appending(path: bucket.name)
    try FileManager.default.copyItem(at: Shared.golden.appending(path: bucket.path), to: root)
    for file in bucket.files {
        let path = root.appending(path: "ltx/\(file.level)/\(file.name)").path
        try setModified(path, file.timestampMs)
    }
    return root
}

/// Sets a modification time exactly; `FileManager` goes through a `Double` of seconds.
func setModified(_ path: String, _ milliseconds: Int64) throws {
    let seconds = milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000
    let time = timespec(
        tv_sec: Int(seconds),
        tv_nsec: Int(milliseconds - seconds * 1000) * 1_000_000
    )
    guard utimensat(AT_FDCWD, path, [time, time], 0) == 0 else {
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
}

func sha256(_ path: String) throws -> String {
    try SHA256.hex(of: contents(path))
}

func contents(_ path: String) throws -> [UInt8] {
    try [UInt8](Data(contentsOf: URL(filePath: path)))
}

func entries(_ directory: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
}
