@preconcurrency internal import CLinux
internal import Configuration
import Glibc
import Synchronization

/// Reads the arguments of one command with `getopt_long`.
enum CommandParser {
    /// getopt_long works on global variables.
    private static let turn = Mutex(())

    /// What getopt_long gives for `--help` and for positional arguments.
    private static let help: CInt = 0x200
    private static let positional: CInt = 1
    private static let firstOption: CInt = 0x201

    /// - Parameters:
    ///   - words: What follows the verb.
    ///   - command: What they are for.
    ///   - program: The name in hints.
    /// - Returns: Checked arguments; unchecked where help is wanted.
    /// - Throws: `UsageError` with the first thing that is wrong.
    static func parse(
        _ words: [String],
        for command: Command,
        program: String
    ) throws(UsageError) -> Arguments {
        var arguments = Arguments(for: command)
        let problem = turn.withLock { _ in
            scan(words, for: command, into: &arguments)
        }
        if let problem { throw UsageError(problem, hint: hint(command, program)) }
        if arguments.wantsHelp { return arguments }
        if let problem = check(arguments, for: command) {
            throw UsageError(problem, hint: hint(command, program))
        }
        return arguments
    }

    private static func hint(_ command: Command, _ program: String) -> String {
        "\(program) \(command.name) --help"
    }

    /// - Returns: What is wrong, or `nil`.
    private static func scan(
        _ words: [String],
        for command: Command,
        into arguments: inout Arguments
    ) -> String? {
        let options = command.options
        // getopt keeps pointers into these, so they live in memory of their own.
        var owned: [UnsafeMutablePointer<CChar>] = []
        func cString(_ text: String) -> UnsafeMutablePointer<CChar>? {
            let copy = strdup(text)
            if let copy { owned.append(copy) }
            return copy
        }
        defer { owned.forEach { free($0) } }

        var table = options.enumerated().map { index, declared in
            CLinux.option(
                name: cString(declared.long),
                has_arg: declared.argument == nil ? no_argument : required_argument,
                flag: nil,
                val: firstOption + CInt(index)
            )
        }
        table.append(
            CLinux.option(name: cString("help"), has_arg: no_argument, flag: nil, val: help)
        )
        table.append(CLinux.option())
        // "-": positionals come in their place, whatever POSIXLY_CORRECT says, so that options
        // behind them count. ":": a missing value is told from an unknown option.
        var letters = "-:h"
        for declared in options {
            guard let short = declared.short else { continue }
            letters += "\(short)" + (declared.argument == nil ? "" : ":")
        }
        var argv = ([command.name] + words).map { cString($0) } + [nil]
        let argc = CInt(argv.count - 1)
        optind = 0
        opterr = 0
        while true {
            let index = max(1, Int(optind))
            let code = getopt_long(argc, &argv, letters, table, nil)
            let value = optarg.map { String(cString: $0) }
            switch code {
            case -1:
                arguments.positionals += words.dropFirst(max(0, Int(optind) - 1))
                return nil
            case positional:
                arguments.positionals.append(value ?? "")
            case help, CInt(UInt8(ascii: "h")):
                arguments.wantsHelp = true
            case CInt(UInt8(ascii: ":")), CInt(UInt8(ascii: "?")):
                let word = words.indices.contains(index - 1) ? words[index - 1] : ""
                return rejection(of: word, code: code, options: options)
            default:
                guard let declared = Self.declared(by: code, in: options) else { return nil }
                if let problem = store(value, of: declared, in: &arguments) { return problem }
            }
        }
    }

    private static func declared(
        by code: CInt,
        in options: [any DeclaredOption]
    ) -> (any DeclaredOption)? {
        let index = Int(code - firstOption)
        if options.indices.contains(index) { return options[index] }
        return options.first {
            $0.short?.asciiValue.map { CInt($0) } == code
        }
    }

    private static func store(
        _ text: String?,
        of declared: any DeclaredOption,
        in arguments: inout Arguments
    ) -> String? {
        // Two values for one setting: one of them would do nothing.
        if declared.argument != nil, arguments.values[declared.long] != nil {
            return "--\(declared.long) is given twice"
        }
        do {
            arguments.values[declared.long] = try declared.convert(text ?? "")
            return nil
        } catch {
            return "--\(declared.long): \"\(Printable.text(text ?? ""))\" \(error)"
        }
    }

    private static func rejection(
        of word: String,
        code: CInt,
        options: [any DeclaredOption]
    ) -> String {
        let known = declared(by: optopt, in: options)
        if code == CInt(UInt8(ascii: ":")), let known {
            return "--\(known.long) needs a value: --\(known.long) \(known.argument ?? "")"
        }
        let shown = Printable.text(word.prefix(while: { $0 != "=" }).description)
        guard word.hasPrefix("--") else {
            let letter = UnicodeScalar(UInt8(truncatingIfNeeded: optopt))
            return optopt > 0x20 && optopt < 0x7F
                ? "unknown option -\(letter)" : "unknown option \(shown)"
        }
        if let known, known.argument == nil { return "--\(known.long) takes no value" }
        let name = word.dropFirst(2).prefix(while: { $0 != "=" }).description
        let names = options.map(\.long) + ["help"]
        let starts = names.filter { $0.hasPrefix(name) }
        if starts.count > 1 {
            let list = starts.map { "--\($0)" }.joined(separator: " or ")
            return "\(shown) could be \(list)"
        }
        let meant = Spelling.nearest(to: name, among: names)
        return "unknown option \(shown)" + (meant.map { ": did you mean --\($0)?" } ?? "")
    }

    private static func check(_ arguments: Arguments, for command: Command) -> String? {
        let given = arguments.positionals
        let wanted = command.positionals
        for (index, positional) in wanted.enumerated()
        where index >= given.count && positional.count != .optional {
            return "\(positional.name) is missing"
        }
        if wanted.last?.count != .oneOrMore, given.count > wanted.count {
            return "\"\(Printable.text(given[wanted.count]))\" is one argument too many"
        }
        if given.contains("") { return "an argument is empty" }
        for option in command.required where arguments.values[option.long] == nil {
            return "--\(option.long) \(option.argument ?? "") is missing"
        }
        return nil
    }
}
