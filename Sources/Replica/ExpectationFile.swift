import DurableFiles
import LTXCodec

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// What writers said of states that are not applied yet, on disk, a line each.
///
/// A mirror that lags may be started anew before it gets there. Nothing waits for the disk here: what
/// a power cut takes is said again, of a later state, with the next push.
struct ExpectationFile {
    let path: String

    /// Sixteen digits, a space, sixteen digits, a line end.
    private static let lineSize = 34
    /// Beyond, the file is no work of ours.
    private static let limit = 16 << 20

    /// What it says; lines that are none are left out.
    func load() throws(FileError) -> [TXID: Checksum] {
        guard let bytes = try DurableFiles.read(path, limit: Self.limit) else { return [:] }
        var expectations: [TXID: Checksum] = [:]
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            guard line.utf8.count == Self.lineSize - 1, words.count == 2,
                let txid = TXID(String(words[0])), let value = UInt64(words[1], radix: 16),
                Checksum(rawValue: value).isPresent
            else { continue }
            expectations[txid] = Checksum(rawValue: value)
        }
        return expectations
    }

    /// Adds a line.
    func add(_ checksum: Checksum, at txid: TXID) throws(FileError) {
        try FaultPoint.pass(.open, path)
        let file = try FileDescriptor(path, O_WRONLY | O_CREAT | O_APPEND)
        var line = "\(txid) \(checksum)\n"
        let outcome: Result<Void, FileError> = line.withUTF8 { bytes in
            do throws(FileError) {
                return .success(try file.write(UnsafeRawBufferPointer(bytes)))
            } catch {
                return .failure(error)
            }
        }
        try outcome.get()
    }

    /// Forgets everything.
    func remove() throws(FileError) {
        try DurableFiles.remove(path)
    }
}
