/// Why a scenario cannot be run, or could not be run to its end, in one line.
public struct ChaosError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) {
        self.description = description
    }
}
