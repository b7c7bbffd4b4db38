import DurableFiles
import LTXCodec
import Transfer

/// What is remembered of an upload under way, so that another process can go on with it.
struct UploadRecord: Hashable, Sendable {
    /// Method and URL of the target, and a CRC of what it was told.
    var target: String
    /// The path of the upload resource on the same server.
    var location: String
    var sizeInBytes: Int64
    /// Which file it is: its checksum, else device, inode and modification time.
    var source: String
    /// The version of the draft that the server took.
    var interop: String
    /// How much goes in one request, where the line has taught something.
    var partSize: Int64
    /// Requests that broke off.
    var cuts = 0

    private static let heading = "dormouse-upload 1"

    /// The text of the file: a line a fact, the last one a CRC-64 of those before.
    var text: String {
        let facts = [
            Self.heading, "target \(target)", "location \(location)", "size \(sizeInBytes)",
            "source \(source)", "interop \(interop)", "part \(partSize)",
            "cuts \(cuts)",
        ].joined(separator: "\n")
        return "\(facts)\ncrc \(Self.crc(facts))\n"
    }

    /// Reads such a text; `nil` for what is none, or was cut.
    init?(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.count == 10, lines[0] == Self.heading, lines[9].isEmpty,
            lines[8] == "crc \(Self.crc(lines[..<8].joined(separator: "\n")))"
        else { return nil }
        let names = ["target ", "location ", "size ", "source ", "interop ", "part ", "cuts "]
        let values = zip(lines[1..<8], names)
            .compactMap { $0.hasPrefix($1) ? String($0.dropFirst($1.count)) : nil }
        guard values.count == 7, let size = Int64(values[2]), let part = Int64(values[5]),
            let cuts = Int(values[6]), size >= 0, part > 0, cuts >= 0,
            UploadAnswer.isPath(values[1])
        else { return nil }
        target = values[0]
        location = values[1]
        sizeInBytes = size
        source = values[3]
        interop = values[4]
        partSize = part
        self.cuts = cuts
    }

    init(
        target: String,
        location: String,
        sizeInBytes: Int64,
        source: String,
        interop: String,
        partSize: Int64
    ) {
        self.target = target
        self.location = location
        self.sizeInBytes = sizeInBytes
        self.source = source
        self.interop = interop
        self.partSize = partSize
    }

    static func crc(_ text: String) -> String {
        var crc = CRC64()
        var text = text
        text.withUTF8 { crc.update(UnsafeRawBufferPointer($0)) }
        return Checksum(rawValue: crc.value).description
    }
}

/// Where the record of one upload is kept: beside the file that is uploaded, unless configured.
struct UploadRecordFile {
    let path: String
    private var directory: String { Path.parent(of: path) }

    /// Named for the address and the file, so that each destination of a file has its own.
    ///
    /// Bytes that are known by their checksum may lie under another name for another process.
    init(_ upload: Upload, directory: String?) {
        let source = upload.source.path
        let name = upload.checksum.isPresent ? "" : " " + Path.name(of: source)
        path = Path.join(
            directory ?? Path.join(Path.parent(of: source), "uploads"),
            "\(UploadRecord.crc(upload.url + name)).upload"
        )
    }

    /// `nil` when there is none, or none of use.
    func load() throws(BucketError) -> UploadRecord? {
        do throws(FileError) {
            guard let bytes = try DurableFiles.read(path, limit: 16 << 10) else { return nil }
            return UploadRecord(String(decoding: bytes, as: UTF8.self))
        } catch {
            if error.isTooLarge { return nil }
            throw BucketError(error)
        }
    }

    /// Makes the record durable.
    func save(_ record: UploadRecord) throws(BucketError) {
        do throws(FileError) {
            try DurableFiles.makeDirectories(directory)
            let file = try DurableFile(path)
            try file.write(record.text)
            try file.publish()
        } catch {
            throw BucketError(error)
        }
    }

    /// Forgets the upload, and those of the directory whose time at the server is over.
    ///
    /// - Parameter now: Milliseconds since 1970.
    /// - Throws: `BucketError`.
    func remove(now: Int64) throws(BucketError) {
        do throws(FileError) {
            try DurableFiles.remove(path)
            guard try FileStatus.of(directory) != nil else { return }
            for name in try DurableFiles.list(directory) where name.hasSuffix(".upload") {
                let other = Path.join(directory, name)
                if let status = try FileStatus.ofEntry(other),
                    status.modifiedAt < now - Self.lifetime
                {
                    try DurableFiles.remove(other)
                }
            }
        } catch {
            throw BucketError(error)
        }
    }

    /// No server keeps the parts for longer: milliseconds of two days.
    private static let lifetime: Int64 = 2 * 86_400_000
}
