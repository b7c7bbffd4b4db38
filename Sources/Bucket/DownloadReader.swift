import DurableFiles
import Transfer

/// Reads a file that is still coming.
///
/// Who reads on waits for the bytes; who jumps far ahead, as to the page index at the end, gets
/// them by a request of their own.
final class DownloadReader: RandomReader {
    let sizeInBytes: Int64
    private let download: Download
    private let transfer: HTTPTransfer
    private let client: HTTPClient
    private let range: @Sendable (_ offset: Int64, _ size: Int64) -> HTTPRequest
    /// The last range that was asked for.
    private let window = Monitor(Window())

    private struct Window {
        var offset: Int64 = 0
        var bytes: [UInt8] = []
    }

    /// What is nearer is waited for.
    static let patience: Int64 = 4 << 20
    /// A request for less is not worth its trip; an index is read in small pieces.
    static let windowSize: Int64 = 1 << 20

    init(
        _ download: Download,
        _ transfer: HTTPTransfer,
        client: HTTPClient,
        range: @escaping @Sendable (_ offset: Int64, _ size: Int64) -> HTTPRequest
    ) {
        self.download = download
        self.transfer = transfer
        self.client = client
        self.range = range
        sizeInBytes = download.sizeInBytes
    }

    deinit {
        transfer.cancel()
    }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        precondition(offset >= 0, "read before the start of a file")
        guard offset < sizeInBytes, buffer.count > 0 else { return 0 }
        let end = offset + min(Int64(buffer.count), sizeInBytes - offset)
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(end - offset)])
        if download.position(of: end, patience: Self.patience) == .farAhead,
            try readAhead(at: offset, into: part)
        {
            return part.count
        }
        do {
            try download.wait(for: end)
            return try download.read(at: offset, into: part)
        } catch let error as FileError {
            throw BucketError(error)
        } catch is CancellationError {
            let failure = TransferFailure(.cancelled, url: range(0, 0).url, detail: "cancelled")
            throw BucketError.transfer(failure)
        }
    }

    /// Fills the buffer from the window, which is moved if need be; `false` when that cannot be had.
    private func readAhead(
        at offset: Int64,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws -> Bool {
        let count = Int64(buffer.count)
        guard count <= Self.windowSize else { return false }
        if copy(at: offset, into: buffer) { return true }
        let start = max(0, min(offset, sizeInBytes - Self.windowSize))
        let size = min(Self.windowSize, sizeInBytes - start)
        let answer = Monitor<Result<HTTPResponse, TransferFailure>?>(nil)
        let collector = BodyCollector(limit: Int(size)) { result in
            answer.change { $0 = result }
        }
        let request = range(start, size)
        let transfer = client.start(request, handler: collector)
        defer { transfer.cancel() }
        // A file that was deleted meanwhile still comes by the download, which the server holds.
        guard case .success(let response) = try answer.wait({ $0 }),
            TransferFailure(response, url: request.url) == nil,
            response.body.count == Int(size)
        else { return false }
        window.change { $0 = Window(offset: start, bytes: response.body) }
        return copy(at: offset, into: buffer)
    }

    private func copy(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
        window.change { window in
            let start = offset - window.offset
            guard start >= 0, start + Int64(buffer.count) <= Int64(window.bytes.count) else {
                return false
            }
            let range = Int(start)..<(Int(start) + buffer.count)
            buffer.copyBytes(from: window.bytes[range])
            return true
        }
    }
}
