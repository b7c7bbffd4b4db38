#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// What a chest strap would measure: a pure function of seed and second.
///
/// The wearer sleeps from 22:45 to 06:30 (UTC), sits most of the day, walks, and now and then
/// trains. Heart rate follows with a delay, breathes, and drifts; the RR intervals are those of
/// just that heart rate; gravity turns with posture and shakes with activity.
package struct SimulatedStrap: Sendable {
    /// Seconds that beats are laid out over at a time.
    static let window: Int64 = 300
    /// Beats that can end within one second, at the highest heart rate.
    static let beatsPerSecond = 4

    private static let activitySlot: Int64 = 600
    private static let postureSlot: Int64 = 240

    private let noise: StrapNoise
    package let link: StrapLink

    package init(seed: UInt64) {
        noise = StrapNoise(seed: seed)
        link = StrapLink(noise: noise)
    }

    // MARK: Heart

    /// Beats a minute, 38...195.
    package func heartRate(at second: Int64) -> Double {
        let slot = second.dividedDown(by: Self.activitySlot)
        let since = Double(second - slot * Self.activitySlot)
        // A heart takes some three minutes to follow a change of effort.
        let share = StrapNoise.smoothstep(since / 180)
        let effort = activity(in: slot - 1) * (1 - share) + activity(in: slot) * share
        let hour = Self.hour(second)
        let circadian = 5 * cos((hour - 16) / 24 * 2 * .pi)
        let breath = 3.5 * (1 - effort) * sin(Double(second % 86_400) * 2 * .pi * 0.23)
        let drift = 2 * noise.smooth(.drift, at: second, period: 90)
        return min(max(56 + circadian + 118 * effort + breath + drift, 38), 195)
    }

    /// Effort of a ten-minute slot, 0...1.
    private func activity(in slot: Int64) -> Double {
        let hour = Self.hour(slot * Self.activitySlot)
        let chance = noise.unit(.activity, slot)
        if hour < 6.5 || hour >= 22.75 { return chance > 0.9 ? 0.06 : 0 }
        switch chance {
        case ..<0.64: return 0.1
        case ..<0.9: return 0.3
        case ..<0.97: return 0.55
        default: return 0.9
        }
    }

    private static func hour(_ second: Int64) -> Double {
        Double(second - second.dividedDown(by: 86_400) * 86_400) / 3600
    }

    /// The RR intervals, in milliseconds, of the beats of each second of a window.
    ///
    /// - Parameter window: Window number, `second / SimulatedStrap.window` rounded down.
    /// - Returns: One list a second; an interval is listed where it ends.
    ///
    /// A window holds a whole number of beats and ends on one, so that windows are laid out
    /// independently and intervals still add up across them. That bends the rate by at most half
    /// a beat in five minutes.
    func intervals(inWindow window: Int64) -> [[Int64]] {
        let start = window * Self.window
        let rates = (0..<Self.window).map { heartRate(at: start + $0) / 60 }
        let total = rates.reduce(0, +)
        let count = max(1, Int(total.rounded()))
        var result = [[Int64]](repeating: [], count: Int(Self.window))
        var second = 0
        var phase = 0.0
        var previous = 0.0
        for beat in 1...count {
            let target = total * Double(beat) / Double(count)
            while second < rates.count - 1, phase + rates[second] < target {
                phase += rates[second]
                second += 1
            }
            var time = Double(second) + (target - phase) / rates[second]
            if beat == count {
                time = Double(Self.window)
            } else {
                time += 0.012 * noise.signed(.jitter, window * 1000 + Int64(beat))
            }
            // A beat on the boundary belongs to the second that it ends.
            let place = min(max(Int(time.rounded(.up)) - 1, 0), rates.count - 1)
            result[place].append(Int64(((time - previous) * 1000).rounded()))
            previous = time
        }
        return result
    }

    // MARK: Posture

    /// The gravity vector in g, of length 1 but for the sensor's resolution of 1/16384 g.
    package func gravity(at second: Int64) -> (x: Double, y: Double, z: Double) {
        let slot = second.dividedDown(by: Self.postureSlot)
        let since = Double(second - slot * Self.postureSlot)
        let target = posture(in: slot)
        let start = posture(in: slot - 1)
        // Turning over takes a few seconds.
        let share = StrapNoise.smoothstep(since / 4)
        let effort = activity(in: second.dividedDown(by: Self.activitySlot))
        let shake = 0.004 + 0.25 * effort
        var vector = (0..<3).map { axis in
            start[axis] * (1 - share) + target[axis] * share
                + shake * noise.signed(.wobble, second * 3 + Int64(axis))
        }
        var length = vector.reduce(0) { $0 + $1 * $1 }.squareRoot()
        if length < 0.05 {
            // Half-way between opposite postures there is no direction.
            vector = target
            length = 1
        }
        let quantized = vector.map { ($0 / length * 16_384).rounded() / 16_384 }
        return (quantized[0], quantized[1], quantized[2])
    }

    /// A posture is kept for some slots: long when asleep, short when up.
    private func posture(in slot: Int64) -> [Double] {
        var slot = slot
        while slot % 64 != 0, !turns(in: slot) { slot -= 1 }
        let height = noise.signed(.height, slot)
        let azimuth = noise.unit(.azimuth, slot) * 2 * .pi
        let radius = (1 - height * height).squareRoot()
        return [radius * cos(azimuth), radius * sin(azimuth), height]
    }

    private func turns(in slot: Int64) -> Bool {
        let hour = Self.hour(slot * Self.postureSlot)
        let chance = hour < 6.5 || hour >= 22.75 ? 0.1 : 0.7
        return noise.unit(.turn, slot) < chance
    }
}
