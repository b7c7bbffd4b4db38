public import SQLiteWAL

/// When a checkpoint is due.
///
/// The measure is the number of frames of the WAL's own generation, not the size of the file,
/// which keeps stale frames behind them. While some reader keeps the WAL from starting again, an
/// attempt at each sync would be all cost and no use: the next is made when the WAL has grown by
/// a tenth of the threshold, or when the reader is gone.
public struct CheckpointPolicy: Equatable, Sendable {
    private struct Attempt: Equatable {
        var salt: WALSalt
        var frames: UInt32
        var isComplete: Bool
    }

    /// Frames; the WAL grows a little past it.
    public let threshold: UInt32
    private var last: Attempt?

    public init(threshold: UInt32) {
        self.threshold = max(1, threshold)
    }

    /// Whether to checkpoint now.
    ///
    /// - Parameters:
    ///   - salt: The generation.
    ///   - frames: Its committed frames.
    ///   - hasOtherReaders: Whether another process reads from the WAL at this moment.
    /// - Returns: `true` when one is due.
    public func isDue(salt: WALSalt, frames: UInt32, hasOtherReaders: Bool) -> Bool {
        guard frames >= threshold else { return false }
        guard let last, last.salt == salt else { return true }
        if hasOtherReaders {
            return frames > last.frames && frames - last.frames >= max(1, threshold / 10)
        }
        // A complete one that nothing followed cannot be bettered: the next writer restarts.
        return frames > last.frames || !last.isComplete
    }

    /// Takes note of an attempt.
    public mutating func attempted(salt: WALSalt, frames: UInt32, isComplete: Bool) {
        last = Attempt(salt: salt, frames: frames, isComplete: isComplete)
    }
}
