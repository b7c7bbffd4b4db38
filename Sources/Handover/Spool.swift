public import DurableFiles
import LTXCodec

/// The directory through which the agent hands files over to the transfer service.
///
/// ```
/// SPOOL/ready/TXID-CHECKSUM.manifest     waits for the transfer service; what systemd watches
/// SPOOL/waiting/TXID-CHECKSUM.manifest   was refused; tried again when the service starts again
/// SPOOL/files/TXID-CHECKSUM.ltx          the bytes, linked or copied
/// SPOOL/receipts/TXID-CHECKSUM.receipt   what became of it, until the agent has read it
/// SPOOL/uploads/*.upload                 uploads under way, the agent's too
/// SPOOL/aside/                           what was no manifest
/// SPOOL/locks/CRC.lock                   one for each destination
/// SPOOL/tmp/                             files that are being written
/// ```
/// The bytes come first and the manifest last, by a rename: what is in `ready` is whole. Whoever
/// takes something out of the spool holds the lock of its destination; adding needs none.
public struct Spool: Sendable {
    public let path: String

    public init(_ path: String) {
        self.path = path
    }

    public var readyPath: String { Path.join(path, "ready") }
    public var waitingPath: String { Path.join(path, "waiting") }
    public var filesPath: String { Path.join(path, "files") }
    public var receiptsPath: String { Path.join(path, "receipts") }
    /// Where the records of uploads under way are kept.
    public var uploadsPath: String { Path.join(path, "uploads") }
    public var asidePath: String { Path.join(path, "aside") }
    public var locksPath: String { Path.join(path, "locks") }
    var temporaryPath: String { Path.join(path, "tmp") }

    static let manifestSuffix = ".manifest"
    static let receiptSuffix = ".receipt"
    static let fileSuffix = ".ltx"

    public func filePath(_ key: SpoolKey) -> String {
        Path.join(filesPath, "\(key)\(Self.fileSuffix)")
    }

    func readyPath(_ key: SpoolKey) -> String {
        Path.join(readyPath, "\(key)\(Self.manifestSuffix)")
    }

    func waitingPath(_ key: SpoolKey) -> String {
        Path.join(waitingPath, "\(key)\(Self.manifestSuffix)")
    }

    func receiptPath(_ key: SpoolKey) -> String {
        Path.join(receiptsPath, "\(key)\(Self.receiptSuffix)")
    }

    /// The lock of a destination, named by its address.
    public func lockPath(_ destination: String) -> String {
        var crc = CRC64()
        var text = destination
        text.withUTF8 { crc.update(UnsafeRawBufferPointer($0)) }
        return Path.join(locksPath, "\(Checksum(rawValue: crc.value)).lock")
    }

    /// Makes all directories that are missing.
    public func make() throws(FileError) {
        for directory in [
            readyPath, waitingPath, filesPath, receiptsPath, asidePath, locksPath, temporaryPath,
        ] { try DurableFiles.makeDirectories(directory) }
    }

    /// Writes a small file durably, beside the directory that somebody watches and then into it.
    func publish(_ text: String, to target: String) throws(FileError) {
        let temporary = Path.join(temporaryPath, Path.name(of: target))
        do throws(FileError) {
            let file = try FileDescriptor(creating: temporary)
            try file.write(text)
            try file.sync()
            try DurableFiles.rename(temporary, to: target)
        } catch {
            try? DurableFiles.remove(temporary)
            throw error
        }
        try DurableFiles.syncDirectory(of: target)
    }

    /// The entries of a directory that may not be there.
    func names(_ directory: String) throws(FileError) -> [String] {
        do throws(FileError) {
            return try DurableFiles.list(directory)
        } catch {
            if error.isMissing { return [] }
            throw error
        }
    }
}

extension FileDescriptor {
    fileprivate func write(_ text: String) throws(FileError) {
        let bytes = Array(text.utf8)
        let outcome: Result<Void, FileError> = bytes.withUnsafeBytes { buffer in
            do throws(FileError) { return .success(try write(buffer)) } catch {
                return .failure(error)
            }
        }
        try outcome.get()
    }
}
