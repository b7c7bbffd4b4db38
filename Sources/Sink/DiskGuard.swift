public import DurableFiles

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
