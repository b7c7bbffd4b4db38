import Bucket
import LTXCodec

/// A file of a bucket as a line of text: `LEVEL NAME SIZE TIMESTAMP`.
struct BucketFileFacts {
    let file: BucketFile

    init(_ file: BucketFile) {
        self.file = file
    }

    /// Reads such a line; `nil` for anything else.
    init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 4, let level = Int(words[0]), BucketFile.levels.contains(level),
            let name = LTXFileName(String(words[1])), let size = Int64(words[2]), size >= 0,
            let timestamp = Int64(words[3])
        else { return nil }
        file = BucketFile(level: level, name: name, sizeInBytes: size, timestamp: timestamp)
    }

    var text: String {
        "\(file.level) \(file.name) \(file.sizeInBytes) \(file.timestamp)"
    }
}
