package import LTXCodec
import SQLiteBridge

/// Reads offered files whole, on a thread of its own, before anybody waits in line for them.
package actor FileVerifier {
    private nonisolated let executor = SerialThreadExecutor()
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    package init() {}

    /// What a file is, or why it is none: a line for a 400.
    package enum Outcome: Sendable {
        case good(VerifiedFile)
        case bad(String)
    }

    /// Verifies a file against the name it is to have.
    ///
    /// - Parameters:
    ///   - name: The range that its header has to have.
    ///   - read: Fills a buffer from an offset on; 0 is the end of the file.
    /// - Returns: What was read in it, or why it is none.
    /// - Throws: What `read` throws.
    package func verify(
        _ name: LTXFileName,
        read: @escaping @Sendable (Int64, UnsafeMutableRawBufferPointer) throws -> Int
    ) throws -> Outcome {
        try Outcome(name) { () throws in try VerifiedFile(read: read) }
    }
}

extension FileVerifier.Outcome {
    /// Judges a file by what comes of reading it.
    ///
    /// - Parameters:
    ///   - name: The range that its header has to have.
    ///   - read: Reads it whole.
    /// - Throws: What `read` throws and is no fault of the file.
    init(_ name: LTXFileName, _ read: () throws -> VerifiedFile) throws {
        let file: VerifiedFile
        do {
            file = try read()
        } catch let error as LTXError {
            self = .bad("no whole LTX file: \(error)")
            return
        }
        guard file.header.fileName == name else {
            let range = file.header.fileName.map { "\($0)" } ?? "no range"
            self = .bad("the file's header says \(range)")
            return
        }
        self = .good(file)
    }
}
