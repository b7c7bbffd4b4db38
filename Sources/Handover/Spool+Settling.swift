import Bucket
public import DurableFiles
import LTXCodec

/// What only the holder of the destination's lock may do.
extension Spool {
    /// Writes what became of a file.
    public func write(_ receipt: Receipt) throws(FileError) {
        try publish(receipt.text, to: receiptPath(receipt.key))
    }

    /// Takes a file out: the manifest goes first, so that nobody looks for bytes that are gone.
    public func remove(_ key: SpoolKey) throws(FileError) {
        try DurableFiles.remove(readyPath(key))
        try DurableFiles.remove(waitingPath(key))
        try DurableFiles.syncDirectory(readyPath)
        try DurableFiles.remove(filePath(key))
    }

    /// Takes a manifest out of what is watched; its time comes again.
    public func hold(_ key: SpoolKey) throws(FileError) {
        guard try FileStatus.ofEntry(readyPath(key)) != nil else { return }
        try DurableFiles.rename(readyPath(key), to: waitingPath(key))
        try DurableFiles.syncDirectory(waitingPath)
        try DurableFiles.syncDirectory(readyPath)
    }

    /// Moves something that is no manifest out of the way; it is not deleted.
    ///
    /// - Returns: Where it is now.
    /// - Throws: `FileError`.
    public func setAside(_ path: String) throws(FileError) -> String {
        var number = 1
        while true {
            let target = Path.join(asidePath, "\(Path.name(of: path)).\(number)")
            number += 1
            guard try FileStatus.ofEntry(target) == nil else { continue }
            try DurableFiles.rename(path, to: target)
            try DurableFiles.syncDirectory(asidePath)
            return target
        }
    }

    /// Takes out what is not wanted any more, and what kills have left.
    ///
    /// - Parameters:
    ///   - isWanted: Whether a manifest still stands for a file that the bucket needs.
    ///   - keepsReceipt: Whether a receipt is still to be read.
    /// - Throws: `FileError`.
    public func withdraw(
        unless isWanted: (Manifest) -> Bool,
        keepsReceipt: (Receipt) -> Bool
    ) throws(FileError) {
        var kept: Set<SpoolKey> = []
        for entry in try entries() {
            // What is no manifest the transfer service sets aside, with a record.
            guard case .success(let manifest) = entry.manifest else { continue }
            if entry.isReady, isWanted(manifest) {
                kept.insert(manifest.key)
            } else {
                try DurableFiles.remove(entry.path)
            }
        }
        for name in try names(receiptsPath) {
            if let key = SpoolKey(name, suffix: Self.receiptSuffix),
                let receipt = try receipt(key), keepsReceipt(receipt)
            {
                continue
            }
            try DurableFiles.remove(Path.join(receiptsPath, name))
        }
        for name in try names(filesPath) {
            if let key = SpoolKey(name, suffix: Self.fileSuffix), kept.contains(key) { continue }
            try DurableFiles.remove(Path.join(filesPath, name))
        }
        for name in try names(temporaryPath) {
            try DurableFiles.remove(Path.join(temporaryPath, name))
        }
    }
}
