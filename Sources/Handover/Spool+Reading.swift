import Bucket
public import DurableFiles
import LTXCodec

extension Spool {
    /// An entry of `ready` or `waiting`.
    public struct Entry: Sendable {
        public var path: String
        public var isReady: Bool
        public var manifest: Result<Manifest, UnusableFacts>
    }

    /// Everything that waits, in the order in which a bucket must get it; what is no manifest
    /// first.
    ///
    /// - Throws: `FileError`.
    public func entries() throws(FileError) -> [Entry] {
        var entries: [Entry] = []
        for (directory, isReady) in [(readyPath, true), (waitingPath, false)] {
            for name in try names(directory) {
                let path = Path.join(directory, name)
                guard let manifest = try manifest(at: path) else { continue }
                entries.append(Entry(path: path, isReady: isReady, manifest: manifest))
            }
        }
        return entries.sorted {
            switch (try? $0.manifest.get().key, try? $1.manifest.get().key) {
            case (let left?, let right?): left < right
            case (let left, let right): left == nil && right != nil
            }
        }
    }

    /// Whether anything lies in it that somebody must look at.
    public var isInUse: Bool {
        get throws(FileError) {
            for directory in [readyPath, waitingPath, filesPath, receiptsPath, temporaryPath]
            where try !names(directory).isEmpty { return true }
            return false
        }
    }

    /// Whether anything waits for the transfer service to start.
    public var isReady: Bool {
        get throws(FileError) { try !names(readyPath).isEmpty }
    }

    /// `nil` for one that is gone meanwhile.
    private func manifest(
        at path: String
    ) throws(FileError) -> Result<Manifest, UnusableFacts>? {
        guard let status = try FileStatus.ofEntry(path) else { return nil }
        guard status.isRegularFile else { return .failure(.notAFile) }
        let bytes: [UInt8]
        do throws(FileError) {
            guard let read = try DurableFiles.read(path, limit: FactsText.limit) else { return nil }
            bytes = read
        } catch {
            if error.isTooLarge { return .failure(.tooLarge) }
            if error.isDenied { return .failure(.denied) }
            throw error
        }
        do throws(UnusableFacts) {
            let manifest = try Manifest(parsing: bytes)
            let name = "\(manifest.key)\(Self.manifestSuffix)"
            guard Path.name(of: path) == name else { return .failure(.otherName(name)) }
            return .success(manifest)
        } catch {
            return .failure(error)
        }
    }

    /// The receipts that can be read; another one is as good as none.
    ///
    /// - Throws: `FileError`.
    public func receipts() throws(FileError) -> [Receipt] {
        var receipts: [Receipt] = []
        for name in try names(receiptsPath) {
            guard let key = SpoolKey(name, suffix: Self.receiptSuffix),
                let receipt = try receipt(key)
            else { continue }
            receipts.append(receipt)
        }
        return receipts
    }

    /// `nil` where there is none, or none of use.
    public func receipt(_ key: SpoolKey) throws(FileError) -> Receipt? {
        do throws(FileError) {
            guard
                let bytes = try DurableFiles.read(receiptPath(key), limit: FactsText.limit),
                let receipt = try? Receipt(parsing: bytes), receipt.key == key
            else { return nil }
            return receipt
        } catch {
            if error.isTooLarge { return nil }
            throw error
        }
    }
}

extension SpoolKey {
    /// Reads a file name with a suffix; `nil` for any other.
    init?(_ name: String, suffix: String) {
        guard name.hasSuffix(suffix) else { return nil }
        self.init(String(name.dropLast(suffix.count)))
    }
}
