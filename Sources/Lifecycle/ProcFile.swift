import DurableFiles
import Glibc

/// A file of `/proc`, which has no size and is read to its end.
package enum ProcFile {
    /// `nil` where there is none, or it may not be read.
    package static func text(_ path: String) -> String? {
        guard let file = try? FileDescriptor(reading: path) else { return nil }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(file.raw, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += chunk[..<count]
        }
    }
}
