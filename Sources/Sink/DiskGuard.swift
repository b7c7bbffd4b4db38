public import DurableFiles
import Glibc

/// The room on a file system, in bytes.
public struct DiskSpace: Hashable, Sendable {
    public var total: Int64
    /// What a process without privileges may still write.
    public var available: Int64

    public init(total: Int64, available: Int64) {
        self.total = total
        self.available = available
    }

    /// Looks at the file system that a path is on.
    public static func of(_ path: String) throws(FileError) -> DiskSpace {
        var buffer = statvfs()
        guard statvfs(path, &buffer) == 0 else { throw FileError(.stat, path, code: errno) }
        return DiskSpace(
            total: bytes(UInt64(buffer.f_blocks), of: UInt64(buffer.f_frsize)),
            available: bytes(UInt64(buffer.f_bavail), of: UInt64(buffer.f_frsize))
        )
    }

    private static func bytes(_ blocks: UInt64, of size: UInt64) -> Int64 {
        let (bytes, overflow) = blocks.multipliedReportingOverflow(by: size)
        return overflow ? .max : Int64(clamping: bytes)
    }
}

/// How much room a sink leaves.
public enum DiskReserve: Hashable, Sendable {
    case bytes(Int64)
    /// Hundredths of a percent of the file system: 500 are 5 %.
    case share(Int)

    /// In bytes, on a file system of this size.
    public func bytes(of total: Int64) -> Int64 {
        switch self {
        case .bytes(let bytes): max(0, bytes)
        // The order keeps it from overflowing; what is lost is below 10,000 bytes.
        case .share(let share): total / 10_000 * Int64(min(max(share, 0), 10_000))
        }
    }
}

/// Whether a write may begin.
public enum DiskDecision: Hashable, Sendable {
    case ok
    /// 507: so much is free, so much has to stay, so much was to come.
    case refuse(available: Int64, reserve: Int64, incoming: Int64)

    /// One line for the client and the log; `nil` when there is room.
    public var reason: String? {
        switch self {
        case .ok: nil
        case .refuse(let available, let reserve, let incoming):
            "\(available) bytes are free, \(reserve) must stay, \(incoming) were to come"
        }
    }
}

/// Keeps a disk from filling up: writes are refused while the reserve would be touched.
///
/// Nothing is remembered, so writes are taken again by themselves as soon as there is room.
public struct DiskGuard: Hashable, Sendable {
    public var reserve: DiskReserve
    /// Seconds after which a refused client may ask again.
    public static let retryAfter = 60

    public init(reserve: DiskReserve) {
        self.reserve = reserve
    }

    /// Decides on a write of so many bytes; 0 when nobody knows how many.
    public func decision(_ space: DiskSpace, incoming: Int64) -> DiskDecision {
        let reserve = reserve.bytes(of: space.total)
        let (needed, overflow) = reserve.addingReportingOverflow(max(0, incoming))
        guard overflow || space.available < needed else { return .ok }
        return .refuse(available: space.available, reserve: reserve, incoming: max(0, incoming))
    }

    /// Looks at the disk, then decides.
    public func decision(at path: String, incoming: Int64) throws(FileError) -> DiskDecision {
        decision(try DiskSpace.of(path), incoming: incoming)
    }
}
