/// Why a sink cannot start or go on: what, where, and what to do.
public struct SinkError: Error, Equatable, Sendable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) {
        self.description = description
    }
}
