import Bucket
public import DurableFiles
import LTXCodec

extension Spool {
    /// Puts a file into the spool, durably: bytes first, manifest last.
    ///
    /// A kill in between leaves bytes without a manifest, which `withdraw` sweeps.
    ///
    /// - Parameters:
    ///   - source: Path of the local file, which does not change any more.
    ///   - manifest: What it is and where it belongs.
    /// - Throws: `FileError`.
    public func add(_ source: String, _ manifest: Manifest) throws(FileError) {
        try bring(source, to: filePath(manifest.key))
        try publish(manifest.text, to: readyPath(manifest.key))
    }

    /// Whether a file is in the spool, or went through it.
    public func knows(_ key: SpoolKey) throws(FileError) -> Bool {
        for path in [readyPath(key), waitingPath(key)]
        where try FileStatus.ofEntry(path) != nil { return true }
        return try receipt(key)?.isStored ?? false
    }

    /// A second name for the file, or a copy of it where there can be none.
    private func bring(_ source: String, to target: String) throws(FileError) {
        do throws(FileError) {
            try DurableFiles.link(source, to: target)
        } catch {
            // Taken: the key is the checksum, so what stands there is this file; a kill came
            // between it and its manifest.
            if error.isLinkUnsupported {
                try copy(source, to: target)
            } else if !error.isTaken {
                throw error
            }
        }
        try DurableFiles.syncDirectory(of: target)
    }

    private func copy(_ source: String, to target: String) throws(FileError) {
        let input = try FileDescriptor(reading: source)
        let temporary = Path.join(temporaryPath, Path.name(of: target))
        do throws(FileError) {
            let output = try FileDescriptor(creating: temporary)
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
            defer { buffer.deallocate() }
            var offset: Int64 = 0
            while true {
                let count = try input.read(at: offset, into: buffer)
                guard count > 0 else { break }
                try output.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                offset += Int64(count)
            }
            try output.sync()
            try DurableFiles.rename(temporary, to: target)
        } catch {
            try? DurableFiles.remove(temporary)
            throw error
        }
    }
}
