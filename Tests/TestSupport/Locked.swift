import Foundation

/// A value that several threads of a test share.
///
/// Not `Synchronization.Mutex`, whose hand-over the thread sanitizer does not see.
// @unchecked because the value is touched under the lock only.
public final class Locked<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    public init(_ value: Value) {
        self.value = value
    }

    public func withLock<R>(_ body: (inout Value) throws -> R) rethrows -> R {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
