import DurableFiles
import Glibc

/// The bytes of a configuration file, read whole and bounded.
package enum ConfigurationFile {
    /// Larger than any settings file and small enough to be harmless.
    static let sizeLimit = 1 << 20

    package static func read(_ path: String) throws(ConfigurationError) -> [UInt8] {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw failure(path, "not a file name") }
        do {
            return try contents(of: path)
        } catch let error as ConfigurationError {
            throw error
        } catch let error as FileError {
            throw failure(path, "cannot be read: \(String(cString: strerror(error.code)))")
        } catch {
            throw failure(path, "\(error)")
        }
    }

    /// Reads the bytes of a file into a configuration, or throws everything that was reported.
    ///
    /// `read` gets the document, reports what is wrong with it, and is `nil` then.
    package static func parse<Config>(
        _ bytes: [UInt8],
        file: String,
        read: (YAMLNode, ProblemList) -> Config?
    ) throws(ConfigurationError) -> Config {
        let problems = ProblemList()
        var config: Config?
        if bytes.count > sizeLimit {
            problems.add("is larger than 1 MiB", line: nil)
        } else if let root = YAMLParser.parse(bytes, problems: problems) {
            config = read(root, problems)
        } else if problems.problems.isEmpty {
            problems.add("has no settings", line: nil)
        }
        guard problems.problems.isEmpty, let config else {
            throw ConfigurationError(file: file, problems: problems.problems)
        }
        return config
    }

    private static func contents(of path: String) throws -> [UInt8] {
        // O_NONBLOCK, because opening a FIFO that nobody writes to would wait for ever.
        let file = try FileDescriptor(path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
        var status = stat()
        guard fstat(file.raw, &status) == 0 else { throw FileError(.stat, path, code: errno) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: throw failure(path, "is a directory, not a file")
        default: throw failure(path, "is not a regular file")
        }
        var bytes = [UInt8](repeating: 0, count: sizeLimit + 1)
        let count = try bytes.withUnsafeMutableBytes { buffer throws(FileError) in
            try file.read(at: 0, into: buffer)
        }
        guard count <= sizeLimit else { throw failure(path, "is larger than 1 MiB") }
        bytes.removeSubrange(count...)
        return bytes
    }

    private static func failure(_ path: String, _ message: String) -> ConfigurationError {
        ConfigurationError(file: path, problems: [Problem(line: nil, message: message)])
    }
}
