import CommandLineKit
import DurableFiles
import Glibc

extension Command {
    /// A new directory of a verb that needs a place to work in.
    static func makeTemporaryDirectory(for verb: String) throws(FileError) -> String {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array(Path.join(base, "dormouse-\(verb)-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw FileError(.makeDirectory, base, code: errno)
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Deletes a directory and all that is in it; what cannot be deleted stays.
    static func removeTree(_ path: String) {
        if let status = try? FileStatus.ofEntry(path), status.isDirectory {
            for name in (try? DurableFiles.list(path)) ?? [] { removeTree(Path.join(path, name)) }
            rmdir(path)
        } else {
            unlink(path)
        }
    }
}
