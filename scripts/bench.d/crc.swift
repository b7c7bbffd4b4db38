// How fast the codec's CRC-64 is, against the way of a table of bytes.
//
// Compiled together with Sources/LTXCodec. Each round adds pages of 4 KiB in both ways, one after
// the other, and is one line of JSON.
//
// Usage: crc ROUNDS

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

private let pageSize = 4096
private let pages = 4096

/// One byte a step, as peers do it.
private struct ByteTable {
    private let entries: [UInt64] = (0..<256).map { byte in
        (0..<8).reduce(UInt64(byte)) { crc, _ in
            crc & 1 == 1 ? crc >> 1 ^ 0xD800_0000_0000_0000 : crc >> 1
        }
    }

    func value(of bytes: UnsafeRawBufferPointer) -> UInt64 {
        entries.withUnsafeBufferPointer { entries in
            var register = UInt64.max
            for byte in bytes {
                let index = Int(truncatingIfNeeded: register ^ UInt64(byte)) & 0xFF
                register = entries[index] ^ register >> 8
            }
            return ~register
        }
    }
}

private func fail(_ message: String, status: Int32) -> Never {
    let text = message + "\n"
    _ = write(2, text, text.utf8.count)
    exit(status)
}

private func cpuNanoseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// CPU time of a way to add all pages, and what it came to.
private func time(
    _ memory: UnsafeRawBufferPointer,
    _ crc: (UnsafeRawBufferPointer) -> UInt64
) -> (nanoseconds: Int, value: UInt64) {
    var value: UInt64 = 0
    let started = cpuNanoseconds()
    for page in 0..<pages {
        let start = page * pageSize
        value ^= crc(UnsafeRawBufferPointer(rebasing: memory[start..<start + pageSize]))
    }
    return (cpuNanoseconds() - started, value)
}

@main
private struct CRCBench {
    static func main() {
        guard CommandLine.arguments.count == 2, let rounds = Int(CommandLine.arguments[1]) else {
            fail("usage: crc ROUNDS", status: 2)
        }
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: pages * pageSize,
            alignment: pageSize
        )
        defer { memory.deallocate() }
        var state: UInt64 = 1
        for offset in stride(from: 0, to: memory.count, by: 8) {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            memory.storeBytes(of: state, toByteOffset: offset, as: UInt64.self)
        }
        let bytes = UnsafeRawBufferPointer(memory)
        let table = ByteTable()
        for _ in 0..<rounds {
            let ours = time(bytes) { page in
                var crc = CRC64()
                crc.update(page)
                return crc.value
            }
            let portable = time(bytes) { page in
                var crc = CRC64()
                crc.updatePortably(page)
                return crc.value
            }
            let bytewise = time(bytes) { table.value(of: $0) }
            guard ours.value == bytewise.value, portable.value == bytewise.value else {
                fail("crc: the ways disagree", status: 1)
            }
            print(
                "{\"bytes\": \(bytes.count), \"ours_ns\": \(ours.nanoseconds),"
                    + " \"portable_ns\": \(portable.nanoseconds),"
                    + " \"table_ns\": \(bytewise.nanoseconds)}"
            )
        }
    }
}
