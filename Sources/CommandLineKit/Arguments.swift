/// A command line after parsing: every option checked and converted, positionals in order.
public struct Arguments: Sendable {
    public internal(set) var positionals: [String] = []
    /// `--help` or `-h` was among the options.
    public internal(set) var wantsHelp = false
    var values: [String: any Sendable] = [:]
    let declared: Set<String>

    init(for command: Command) {
        declared = Set(command.options.map(\.long))
    }

    /// The long names of the options that were given, in alphabetical order.
    public var given: [String] { values.keys.sorted() }

    /// Whether a flag was given.
    public subscript(flag: Flag) -> Bool {
        precondition(declared.contains(flag.long), "--\(flag.long) is not declared")
        return values[flag.long] != nil
    }

    /// The value of an option, or `nil` when it was not given.
    public subscript<Value>(option: Option<Value>) -> Value? {
        precondition(declared.contains(option.long), "--\(option.long) is not declared")
        return values[option.long] as? Value
    }

    /// The value of an option that is declared as required.
    public func required<Value>(_ option: Option<Value>) -> Value {
        guard let value = self[option] else {
            preconditionFailure("--\(option.long) is not required")
        }
        return value
    }

    /// The first positional argument; for commands that declare at least one.
    public var first: String { positionals[0] }
}
