import CommandLineKit
import DurableFiles
import Glibc
import LTXCodec
import Wire

/// An LTX file on disk, open for looking at.
final class LTXInput {
    let path: String
    let sizeInBytes: Int64
    private let file: FileDescriptor
    private var position: Int64 = 0

    /// - Throws: `FileError`, or `CommandFailure` for what is not a regular file.
    init(_ path: String) throws {
        self.path = path
        // O_NONBLOCK, because opening a FIFO that nobody writes to would wait for ever.
        let file = try FileDescriptor(path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
        let status = try file.status()
        guard status.isRegularFile else {
            let kind = status.isDirectory ? "a directory" : "not a regular file"
            throw CommandFailure("\(path) is \(kind)")
        }
        sizeInBytes = status.sizeInBytes
        self.file = file
    }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        try file.read(at: offset, into: buffer)
    }

    /// Reads on from where the last call ended.
    func readNext(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let count = try file.read(at: position, into: buffer)
        position += Int64(count)
        return count
    }

    /// Opens the file through its index.
    func pages() throws -> LTXPageReader {
        try LTXPageReader(size: sizeInBytes, readAt: read)
    }
}

/// Goes through the files of a command, telling of each that fails.
enum LTXFiles {
    /// What is wrong with a file: the codec's category, or a word of ours.
    struct Fault: CustomStringConvertible {
        let category: String
        let detail: String

        init(_ error: any Error) {
            category = (error as? LTXError)?.category.rawValue ?? "unreadable"
            detail = "\(error)"
        }

        init(category: String, detail: String) {
            self.category = category
            self.detail = detail
        }

        var description: String { "\(category): \(detail)" }

        /// The object that stands for a file with a fault.
        func json(for path: String) -> JSONValue {
            [
                "file": .string(path),
                "fault": ["category": .string(category), "detail": .string(detail)],
            ]
        }
    }

    /// Calls `body` for each file; a fault gets one line on standard error.
    ///
    /// - Parameters:
    ///   - arguments: The files are its positionals.
    ///   - console: Where to print.
    ///   - body: Throws what is wrong with the file.
    ///   - faulty: Is called instead of printing the line.
    /// - Returns: `.failed` if there was a fault.
    /// - Throws: `OutputError`, which ends it.
    static func each(
        _ arguments: Arguments,
        console: Console,
        _ body: (String) throws -> Void,
        faulty: ((String, Fault) throws -> Void)? = nil
    ) throws -> ExitCode {
        var code = ExitCode.done
        for path in arguments.positionals {
            do {
                try body(path)
            } catch let error as OutputError {
                throw error
            } catch {
                code = .failed
                let fault = Fault(error)
                if let faulty {
                    try faulty(path, fault)
                } else {
                    try console.out.flush()
                    // Other errors name the file themselves.
                    console.complain(error is LTXError ? "\(path): \(fault)" : "\(error)")
                }
            }
        }
        return code
    }
}
