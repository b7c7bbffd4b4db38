public import Bucket
internal import Configuration

/// What is wrong with the value of an option, as the end of a sentence: "is not a number".
public struct InvalidValue: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) {
        self.description = description
    }
}

/// An option as it is declared, whatever it yields.
public protocol DeclaredOption: Sendable {
    /// Without the dashes.
    var long: String { get }
    var short: Character? { get }
    /// What stands for the value in usage, such as `FILE`; `nil` when there is no value.
    var argument: String? { get }
    var help: String { get }

    /// Turns the value as given into what the command gets.
    func convert(_ text: String) throws(InvalidValue) -> any Sendable
}

/// An option that is there or not.
public struct Flag: DeclaredOption {
    public let long: String
    public let short: Character?
    public let help: String
    public var argument: String? { nil }

    public init(_ long: String, short: Character? = nil, help: String) {
        self.long = long
        self.short = short
        self.help = help
    }

    public func convert(_ text: String) throws(InvalidValue) -> any Sendable { true }
}

/// An option with a value, which is checked before the command runs.
public struct Option<Value: Sendable>: DeclaredOption {
    public let long: String
    public let short: Character?
    public let argument: String?
    public let help: String
    private let conversion: @Sendable (String) throws(InvalidValue) -> Value

    public init(
        _ long: String,
        short: Character? = nil,
        _ argument: String,
        help: String,
        as conversion: @escaping @Sendable (String) throws(InvalidValue) -> Value
    ) {
        self.long = long
        self.short = short
        self.argument = argument
        self.help = help
        self.conversion = conversion
    }

    public func convert(_ text: String) throws(InvalidValue) -> any Sendable {
        try conversion(text)
    }
}

extension Option<String> {
    /// A text that is not empty.
    public init(_ long: String, short: Character? = nil, _ argument: String, help: String) {
        self.init(long, short: short, argument, help: help) { text throws(InvalidValue) in
            guard !text.isEmpty else { throw InvalidValue("is empty") }
            return text
        }
    }
}

extension Option<Duration> {
    /// A duration above zero, such as `30s`.
    public init(_ long: String, short: Character? = nil, duration argument: String, help: String) {
        self.init(long, short: short, argument, help: help) { text throws(InvalidValue) in
            let duration = try duration(text)
            guard duration > .zero else { throw InvalidValue("must be more than zero") }
            return duration
        }
    }
}

extension Option<BucketAddress> {
    /// A bucket.
    public init(_ long: String, short: Character? = nil, bucket argument: String, help: String) {
        self.init(long, short: short, argument, help: help) { text throws(InvalidValue) in
            try bucketAddress(text)
        }
    }
}

extension Option where Value: FixedWidthInteger {
    /// A whole number within bounds.
    public init(
        _ long: String,
        short: Character? = nil,
        _ argument: String,
        in range: ClosedRange<Value>,
        help: String
    ) {
        self.init(long, short: short, argument, help: help) { text throws(InvalidValue) in
            guard let value = Value(text), range.contains(value) else {
                throw InvalidValue(
                    "is not a whole number from \(range.lowerBound) to \(range.upperBound)"
                )
            }
            return value
        }
    }
}

extension Option where Value: RawRepresentable<String> & CaseIterable {
    /// One of a few words.
    public init(_ long: String, short: Character? = nil, choice argument: String, help: String) {
        self.init(long, short: short, argument, help: help) { text throws(InvalidValue) in
            guard let value = Value(rawValue: text) else {
                let words = Value.allCases.map(\.rawValue).joined(separator: ", ")
                throw InvalidValue("is not one of \(words)")
            }
            return value
        }
    }
}

private func duration(_ text: String) throws(InvalidValue) -> Duration {
    do {
        return try DurationText.parse(text)
    } catch {
        throw InvalidValue(error.description)
    }
}

/// Reads a bucket, from an option or a positional argument; one that this version can open.
public func bucketAddress(_ text: String) throws(InvalidValue) -> BucketAddress {
    do {
        let address = try BucketAddress(parsing: text)
        _ = try address.client(http: HTTPBucketOptions())
        return address
    } catch {
        throw InvalidValue("cannot be used: \(error)")
    }
}
