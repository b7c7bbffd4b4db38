import Foundation
import LTXCodec
import TestSupport
import Testing

/// The parts of `../shared/golden/MANIFEST.json` that speak of LTX files.
struct Manifest: Decodable, Sendable {
    let buckets: [Bucket]
    let ltxBad: [BadFile]
    let ltxOk: [GoodFile]

    struct Bucket: Decodable, Sendable {
        let name: String
        let path: String
        let files: [BucketFile]
    }

    struct BucketFile: Decodable, Sendable {
        let level: Int
        let name: String
        let facts: Facts

        private enum CodingKeys: CodingKey {
            case level
            case name
        }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            level = try fields.decode(Int.self, forKey: .level)
            name = try fields.decode(String.self, forKey: .name)
            facts = try Facts(from: decoder)
        }
    }

    struct BadFile: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let file: String
        let expect: Expectation

        struct Expectation: Decodable, Sendable {
            let category: String
            let alsoFine: [String]
        }

        var testDescription: String { name }
    }

    struct GoodFile: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let file: String
        let facts: Facts

        var testDescription: String { name }
    }

    /// What a file holds; TXIDs, checksums and node IDs are 16 hexadecimal digits.
    struct Facts: Decodable, Sendable, Equatable {
        var minTxid: String
        var maxTxid: String
        var size: Int
        var encoding: String
        var flags: UInt32
        var pageSize: UInt32
        var commit: UInt32
        var timestampMs: Int64
        var preApplyChecksum: String
        var postApplyChecksum: String
        var fileChecksum: String
        var walOffset: Int64
        var walSize: Int64
        var walSalt1: UInt32
        var walSalt2: UInt32
        var nodeId: String
        var pageCount: Int
        var pages: String
        var indexOffset: Int
        var indexSize: Int
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

/// One LTX file of a golden bucket.
struct GoldenBucketFile: Sendable, CustomTestStringConvertible {
    let path: String
    let facts: Manifest.Facts

    var testDescription: String { path }

    static let all: [GoldenBucketFile] = (Manifest.shared?.buckets ?? []).flatMap { bucket in
        bucket.files.map { file in
            GoldenBucketFile(
                path: "\(bucket.path)/ltx/\(file.level)/\(file.name)",
                facts: file.facts
            )
        }
    }
}

/// Reads a file of `../shared/golden`.
func goldenBytes(_ path: String) throws -> [UInt8] {
    try [UInt8](Data(contentsOf: Shared.golden.appending(path: path)))
}
