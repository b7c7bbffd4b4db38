#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Random numbers by place instead of by turn: any second can be asked for first.
///
/// That makes the simulated strap a pure function of seed and time, so a relaunch resumes in the
/// middle without replaying what came before.
struct StrapNoise: Sendable {
    /// What a number is for; two uses never share one.
    enum Use: UInt64 {
        case gap, gapStart, gapLength, resent
        case activity, drift, jitter
        case turn, azimuth, height, wobble
    }

    let seed: UInt64

    /// A number in 0..<1, the same for the same seed, use and place.
    func unit(_ use: Use, _ place: Int64) -> Double {
        var mixed = seed ^ (use.rawValue &* 0xD6E8_FEB8_6659_FD93)
        mixed = Self.mix(mixed &+ 0x9E37_79B9_7F4A_7C15)
        mixed = Self.mix(mixed ^ UInt64(bitPattern: place))
        return Double(mixed >> 11) * 0x1p-53
    }

    /// A number in -1..<1.
    func signed(_ use: Use, _ place: Int64) -> Double {
        unit(use, place) * 2 - 1
    }

    /// Noise in -1..<1 that moves smoothly from one multiple of `period` to the next.
    func smooth(_ use: Use, at second: Int64, period: Int64) -> Double {
        let knot = second.dividedDown(by: period)
        let share = Self.smoothstep(Double(second - knot * period) / Double(period))
        return signed(use, knot) * (1 - share) + signed(use, knot + 1) * share
    }

    /// From 0 to 1 without a corner at either end.
    static func smoothstep(_ share: Double) -> Double {
        let share = min(max(share, 0), 1)
        return share * share * (3 - 2 * share)
    }

    /// The finalizer of SplitMix64.
    private static func mix(_ value: UInt64) -> UInt64 {
        var mixed = value
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
