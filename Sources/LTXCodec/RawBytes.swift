/// Raw memory that its one owner frees.
struct RawBytes: ~Copyable {
    let base: UnsafeMutableRawPointer
    let count: Int

    init(count: Int) {
        base = .allocate(byteCount: count, alignment: 16)
        self.count = count
    }

    deinit {
        base.deallocate()
    }
}

extension UnsafeRawBufferPointer {
    /// A big-endian number, wherever it stands; the bounds are the caller's to check.
    @inline(__always)
    func bigEndian<T: FixedWidthInteger & BitwiseCopyable>(_: T.Type, at offset: Int) -> T {
        T(bigEndian: loadUnaligned(fromByteOffset: offset, as: T.self))
    }
}

extension UnsafeMutableRawBufferPointer {
    @inline(__always)
    func setBigEndian<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at offset: Int) {
        storeBytes(of: value.bigEndian, toByteOffset: offset, as: T.self)
    }
}

extension UnsafeMutableRawPointer {
    @inline(__always)
    func setBigEndian<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at offset: Int) {
        storeBytes(of: value.bigEndian, toByteOffset: offset, as: T.self)
    }
}
