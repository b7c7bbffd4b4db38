#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The strap's radio: when it is away, and what it sends again when it is back.
///
/// In a half hour there is a disconnect one time in four, of 3 to 600 seconds, short ones far more
/// often than long ones. What was measured meanwhile is lost. What was sent just before was never
/// acknowledged, so the strap sends it again.
package struct StrapLink: Sendable {
    /// Seconds in which at most one disconnect begins and ends.
    static let window: Int64 = 1800

    /// One disconnect.
    package struct Gap: Hashable, Sendable {
        /// The seconds of which there is no sample.
        package let seconds: Range<Int64>
        /// Samples from before it that are sent a second time after it, 1...20.
        package let resent: Int64
    }

    let noise: StrapNoise

    /// The disconnect of a window; `nil` where there is none.
    package func gap(inWindow window: Int64) -> Gap? {
        guard noise.unit(.gap, window) < 0.25 else { return nil }
        let length = Int64(3 * pow(200, noise.unit(.gapLength, window)))
        // Room on both sides: the samples sent again lie in this window too.
        let room = Self.window - 60 - length
        let start =
            window * Self.window + 30
            + Int64(noise.unit(.gapStart, window) * Double(room))
        return Gap(
            seconds: start..<start + length,
            resent: 1 + Int64(noise.unit(.resent, window) * 20)
        )
    }
}
