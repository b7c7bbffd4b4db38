import Configuration
import Lifecycle
import SQLiteBridge

/// Reads the items of `steps`: each has one verb, and beside it the details of that verb.
struct StepReader {
    /// The keys of which each item has exactly one.
    static let verbs = [
        "wait", "foreground", "background", "suspend", "kill", "memory-kill", "terminate",
        "network", "proxy", "disk", "clock", "checkpoint", "sink", "busy", "write", "control",
        "settle", "repeat", "choose",
    ]
    static let details = [
        "for", "when", "rate", "up", "down", "status", "after", "times", "of", "free", "delay",
        "pool", "steps", "weight",
    ]

    private static let longest: ClosedRange<Duration> = .zero...(.seconds(366 * 86_400))

    private enum NetworkWord: String, CaseIterable { case on, off, slow, flapping }
    private enum ProxyWord: String, CaseIterable {
        case none, answer, reset, stall, duplicate, corrupt, refuse
        case resetAnswer = "reset-answer"
    }
    private enum DiskWord: String, CaseIterable { case ok, full, small, slow }
    private enum PoolWord: String, CaseIterable { case external, automatic }

    var section: Section
    private var problems: ProblemList { section.problems }

    init(_ section: Section) {
        self.section = section
    }

    /// The event of a verb; `nil` when something is wrong with it, which has been reported.
    mutating func event(_ verb: String) -> Scenario.Step? {
        switch verb {
        case "wait": lasting(verb, .wait)
        case "foreground": lasting(verb, .foreground)
        case "background": lasting(verb, .background)
        case "suspend": lasting(verb, .suspend)
        case "busy": lasting(verb, .busy)
        case "settle": lasting(verb, .settle)
        case "kill", "memory-kill", "terminate": end(verb)
        case "network": network()
        case "proxy": proxy()
        case "disk": disk()
        case "clock": clock()
        case "checkpoint": checkpoint()
        case "sink": sink()
        case "write": write()
        default: control()
        }
    }

    private mutating func lasting(_ name: String, _ action: Action) -> Scenario.Step? {
        drawn(name).map { .event(action, $0) }
    }

    private mutating func end(_ verb: String) -> Scenario.Step? {
        let moment = section.choice("when", Action.Moment.self) ?? .now
        guard let death = Action.Death(rawValue: verb), let length = drawn(verb) else { return nil }
        return .event(.end(death, when: moment), length)
    }

    private mutating func network() -> Scenario.Step? {
        guard let word = section.choice("network", NetworkWord.self) else { return nil }
        let length = drawn("for") ?? .instant
        switch word {
        case .on: return .event(.network(.on), length)
        case .off: return .event(.network(.off), length)
        case .slow:
            guard needs("rate"), let rate = section.size("rate", in: 1...(1 << 40)) else {
                return nil
            }
            return .event(.network(.slow(rate: rate)), length)
        case .flapping:
            guard needs("up"), needs("down"), let up = section.duration("up", in: Self.longest),
                let down = section.duration("down", in: Self.longest)
            else { return nil }
            return .event(.network(.flapping(up: up, down: down)), length)
        }
    }

    private mutating func proxy() -> Scenario.Step? {
        guard let word = section.choice("proxy", ProxyWord.self) else { return nil }
        let times = section.integer("times", in: 1...1_000_000)
        let length = drawn("for") ?? .instant
        var after: Int64 = 0
        if [.answer, .reset, .resetAnswer, .stall, .corrupt].contains(word) {
            after = section.size("after", in: 0...(1 << 40)) ?? 0
        }
        let fault: ProxyFault
        switch word {
        case .none: fault = .none
        case .answer:
            guard needs("status") else { return nil }
            fault = .answer(
                status: section.integer("status", in: 400...599) ?? 503,
                afterBytes: after
            )
        case .reset: fault = .resetUpload(afterBytes: after)
        case .resetAnswer: fault = .resetDownload(afterBytes: after)
        case .stall: fault = .stall(afterBytes: after)
        case .duplicate: fault = .duplicate
        case .corrupt: fault = .corrupt(atByte: after)
        case .refuse: fault = .refuse
        }
        return .event(.proxy(fault, times: times), length)
    }

    private mutating func disk() -> Scenario.Step? {
        guard let word = section.choice("disk", DiskWord.self) else { return nil }
        let disk = section.choice("of", Action.Disk.self) ?? .device
        let length = drawn("for") ?? .instant
        switch word {
        case .ok: return .event(.disk(disk, .ok), length)
        case .full: return .event(.disk(disk, .full(free: 0)), length)
        case .small:
            guard needs("free"), let free = section.size("free", in: 0...(1 << 40)) else {
                return nil
            }
            return .event(.disk(disk, .full(free: free)), length)
        case .slow:
            guard needs("delay"),
                let delay = section.duration("delay", in: .zero...(.seconds(60)))
            else { return nil }
            return .event(.disk(disk, .slow(delay: delay)), length)
        }
    }

    private mutating func clock() -> Scenario.Step? {
        guard let text = section.text("clock") else { return nil }
        let digits = text.value.hasPrefix("+") ? String(text.value.dropFirst()) : text.value
        do {
            return .event(.clock(try DurationText.parse(digits)), .instant)
        } catch {
            report(error.description, "clock", text)
            return nil
        }
    }

    private mutating func checkpoint() -> Scenario.Step? {
        let times = section.integer("times", in: 1...1_000) ?? 1
        guard let mode = section.choice("checkpoint", CheckpointMode.self) else { return nil }
        return .event(.checkpoint(mode, times: times), .instant)
    }

    private mutating func sink() -> Scenario.Step? {
        let length = drawn("for") ?? .instant
        guard let death = section.choice("sink", Action.Death.self) else { return nil }
        return .event(.sink(death), length)
    }

    private mutating func write() -> Scenario.Step? {
        let pool = section.choice("pool", PoolWord.self) ?? .external
        guard let size = section.size("write", in: 1...(1 << 40)) else { return nil }
        return .event(.write(size, pool == .external ? .external : .automatic), .instant)
    }

    private mutating func control() -> Scenario.Step? {
        guard let text = section.text("control") else { return nil }
        do {
            return .event(.control(try ControlRequest(text.value)), .instant)
        } catch {
            problems.add("\(error)", key: section.key("control"), line: text.line)
            return nil
        }
    }

    // MARK: Values

    private mutating func drawn(_ name: String) -> Scenario.Drawn? {
        guard let text = section.text(name) else { return nil }
        do {
            let drawn = try RangeText.duration(text.value)
            guard drawn.high <= Self.longest.upperBound else {
                report("is longer than a year", name, text)
                return nil
            }
            return drawn
        } catch {
            report("\(error)", name, text)
            return nil
        }
    }

    private mutating func needs(_ name: String) -> Bool {
        section.required(name) != nil
    }

    private func report(_ complaint: String, _ name: String, _ text: YAMLText) {
        problems.add("\"\(text.excerpt)\" \(complaint)", key: section.key(name), line: text.line)
    }
}

extension ScenarioReader {
    /// The items of a list of steps.
    mutating func steps(_ node: YAMLNode, _ path: String) -> [Scenario.Step] {
        guard case .sequence(let items) = node.content else {
            if case .refused = node.content { return [] }
            problems.add("must be a list, not \(node.kind)", key: path, line: node.line)
            return []
        }
        if items.isEmpty { problems.add("is empty", key: path, line: node.line) }
        return items.enumerated().compactMap { step($1, "\(path)[\($0)]") }
    }

    private mutating func step(_ node: YAMLNode, _ path: String) -> Scenario.Step? {
        guard var section = Section(node, path: path, schema: .scenario, problems: problems)
        else { return nil }
        let verbs = StepReader.verbs.filter { section.has($0) }
        guard let verb = verbs.first else {
            // Asked for all, so that a misspelt one is told what it was meant to be.
            for name in StepReader.verbs { _ = section.node(name) }
            let before = problems.problems.count
            section.finish()
            if problems.problems.count == before {
                problems.add("has no event", key: path, line: node.line)
            }
            return nil
        }
        guard verbs.count == 1 else {
            let list = verbs.joined(separator: " and ")
            problems.add("has two events, \(list): make two steps", key: path, line: node.line)
            return nil
        }
        defer {
            // Keys that other events have, and this one has no use for.
            let known = section.known.filter { $0 != verb }
            let why =
                known.isEmpty
                ? "says nothing about this event"
                : "says nothing about this event: it has "
                    + known.joined(separator: ", ")
            let elsewhere = Dictionary(StepReader.details.map { ($0, why) }) { first, _ in first }
            finish(section, as: "steps", elsewhere: elsewhere)
        }
        switch verb {
        case "repeat": return repetition(&section, path)
        case "choose": return choice(&section, path)
        default:
            var reader = StepReader(section)
            defer { section = reader.section }
            return reader.event(verb)
        }
    }

    private mutating func repetition(_ section: inout Section, _ path: String) -> Scenario.Step? {
        let node = section.required("steps")
        let steps = node.map { self.steps($0, path + ".steps") } ?? []
        guard let text = section.text("repeat") else { return nil }
        do {
            return .times(try RangeText.count(text.value, in: 1...100_000), steps)
        } catch {
            problems.add(
                "\"\(text.excerpt)\" \(error)",
                key: section.key("repeat"),
                line: text.line
            )
            return nil
        }
    }

    private mutating func choice(_ section: inout Section, _ path: String) -> Scenario.Step? {
        guard let node = section.node("choose") else { return nil }
        let path = path + ".choose"
        guard case .sequence(let items) = node.content, !items.isEmpty else {
            problems.add("must be a list of steps to choose from", key: path, line: node.line)
            return nil
        }
        var choices: [Scenario.Choice] = []
        for (index, item) in items.enumerated() {
            let path = "\(path)[\(index)]"
            guard
                var section = Section(item, path: path, schema: .scenario, problems: problems)
            else { continue }
            if section.has("steps") {
                let weight = section.integer("weight", in: 1...1_000) ?? 1
                let steps = section.node("steps").map { self.steps($0, path + ".steps") } ?? []
                choices.append(Scenario.Choice(weight: weight, steps: steps))
                finish(section, as: "steps")
            } else if let step = step(item, path) {
                choices.append(Scenario.Choice(weight: 1, steps: [step]))
            }
        }
        return choices.isEmpty ? nil : .choice(choices)
    }
}
