import Bucket
import CMicroHTTPD

/// A range of a file on its way to a client; the file stays open until it is there.
// Read by the connection's thread alone.
final class FileBody: Sendable {
    private let reader: any RandomReader
    private let offset: Int64
    private let count: Int64

    init(_ reader: any RandomReader, offset: Int64, count: Int64) {
        self.reader = reader
        self.offset = offset
        self.count = count
    }

    func response(_ mhd: MicroHTTPD) -> OpaquePointer? {
        dormouse_mhd_reader(
            mhd.functions,
            { context, position, buffer, size in
                guard let context, let buffer else { return dormouse_mhd_end_with_error }
                let body = Unmanaged<FileBody>.fromOpaque(context).takeUnretainedValue()
                return body.read(
                    at: Int64(clamping: position),
                    into: UnsafeMutableRawBufferPointer(start: buffer, count: size)
                )
            },
            Unmanaged.passRetained(self).toOpaque(),
            { context in
                guard let context else { return }
                Unmanaged<FileBody>.fromOpaque(context).release()
            }
        )
    }

    private func read(at position: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let wanted = Int(min(Int64(buffer.count), count - position))
        guard wanted > 0 else { return dormouse_mhd_end_of_stream }
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
        // A file that ends early must not look like a shorter one.
        guard let read = try? reader.read(at: offset + position, into: part), read == wanted else {
            return dormouse_mhd_end_with_error
        }
        return read
    }
}

/// Frames on their way to a client that follows.
final class FramesBody: Sendable {
    private let queue: FrameQueue
    private let connection: ConnectionHandle
    private let sleepers: Sleepers

    init(_ queue: FrameQueue, connection: ConnectionHandle, sleepers: Sleepers) {
        self.queue = queue
        self.connection = connection
        self.sleepers = sleepers
    }

    func response(_ mhd: MicroHTTPD) -> OpaquePointer? {
        dormouse_mhd_reader(
            mhd.functions,
            { context, _, buffer, size in
                guard let context, let buffer else { return dormouse_mhd_end_with_error }
                let body = Unmanaged<FramesBody>.fromOpaque(context).takeUnretainedValue()
                return body.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
            },
            Unmanaged.passRetained(self).toOpaque(),
            { context in
                guard let context else { return }
                Unmanaged<FramesBody>.fromOpaque(context).takeRetainedValue().queue.close()
            }
        )
    }

    private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let (connection, sleepers) = (connection, sleepers)
        while true {
            let outcome = queue.read(into: buffer) {
                sleepers.wake(connection)
            } sleep: {
                sleepers.sleep(connection)
            }
            switch outcome {
            // Something came in between: look again.
            case .bytes(0): continue
            case .bytes(let count): return count
            case .wait: return 0
            case .end: return dormouse_mhd_end_of_stream
            case .broken: return dormouse_mhd_end_with_error
            }
        }
    }
}
