import Bucket
public import Configuration
import DurableFiles

extension Scenario: ConfigurationDocument {
    /// Every key there is, as `group.key`; `steps` stands for each of its items.
    package static var knownPaths: [String] { Schema.scenario.paths }

    public static func parse(
        _ bytes: [UInt8],
        file: String,
        asked: inout Set<String>
    ) throws(ConfigurationError) -> Scenario {
        try ConfigurationFile.parse(bytes, file: file) { root, problems in
            var reader = ScenarioReader(problems: problems)
            defer { asked = reader.asked }
            let name = Path.name(of: file)
            return reader.read(
                root,
                name: name.hasSuffix(".yml") ? String(name.dropLast(4)) : name
            )
        }
    }
}

/// Walks the document once, section by section.
struct ScenarioReader {
    let problems: ProblemList
    var asked: Set<String> = []

    init(problems: ProblemList) {
        self.problems = problems
    }

    mutating func read(_ root: YAMLNode, name: String) -> Scenario? {
        guard var top = Section(root, path: "", schema: .scenario, problems: problems) else {
            return nil
        }
        let about = top.text("about", required: true)
        let pace = pace(in: &top, from: Scenario.Pace())
        var scenario = Scenario(
            name: name,
            about: about?.value ?? "",
            pace: pace,
            fullPace: pace,
            agent: AgentConfig(database: "/database", destination: .directory("/destination")),
            steps: []
        )
        if let seed = top.integer("seed", in: 0...UInt64.max) { scenario.seed = seed }
        if let content = top.size("content", in: 0...(1 << 40)) { scenario.content = content }
        if let flag = top.flag("shared-container") { scenario.isContainerShared = flag }
        if var section = top.section("full") {
            scenario.fullPace = self.pace(in: &section, from: pace)
            scenario.fullRepeat = section.integer("repeat", in: 1...100_000)
            if let node = section.node("expect") {
                scenario.fullExpectations = expectations(node, "full.expect")
            }
            finish(section)
        }
        if let node = top.node("agent"),
            let agent = AgentConfig.group(node, path: "agent", problems: problems)
        {
            scenario.agent = agent
        }
        if let node = top.required("steps") { scenario.steps = steps(node, "steps") }
        if let node = top.node("expect") { scenario.expectations = expectations(node, "expect") }
        finish(top)
        let count = longest(scenario.steps, rounds: scenario.fullRepeat)
        if count > Plan.limit {
            problems.add(
                "make up to \(count) events; at most \(Plan.limit) are allowed",
                key: "steps",
                line: top.line(of: "steps")
            )
        }
        return scenario
    }

    mutating func finish(
        _ section: Section,
        as path: String? = nil,
        elsewhere: [String: String] = [:]
    ) {
        section.finish(elsewhere: elsewhere)
        asked.formUnion(section.known.map { Section.join(path ?? section.path, $0) })
    }

    private mutating func pace(in section: inout Section, from pace: Scenario.Pace)
        -> Scenario.Pace
    {
        Scenario.Pace(
            speed: section.speed("speed") ?? pace.speed,
            scale: section.integer("scale", in: 1...10_000) ?? pace.scale
        )
    }

    /// Events of the longest way through the steps; saturates.
    private func longest(_ steps: [Scenario.Step], rounds: Int? = nil) -> Int {
        steps.reduce(0) { sum, step in
            let count: Int
            switch step {
            case .event: count = 1
            case .times(let range, let steps):
                let times = max(range.upperBound, rounds ?? 0)
                let (product, overflow) = times.multipliedReportingOverflow(by: longest(steps))
                count = overflow ? .max / 4 : product
            case .choice(let choices): count = choices.map { longest($0.steps) }.max() ?? 0
            }
            return min(.max / 4, sum + min(count, .max / 4))
        }
    }

    // MARK: Expectations

    private mutating func expectations(_ node: YAMLNode, _ path: String) -> [Allowance] {
        guard var section = Section(node, path: path, schema: .scenario, problems: problems)
        else { return [] }
        var expectations: [Allowance] = []
        for metric in Metric.allCases {
            guard let text = section.text(metric.rawValue) else { continue }
            let key = section.key(metric.rawValue)
            do {
                expectations.append(try RangeText.expectation(metric, text.value))
            } catch {
                problems.add("\"\(text.excerpt)\" \(error)", key: key, line: text.line)
            }
        }
        finish(section)
        return expectations
    }
}

extension Schema {
    static let scenario = Schema(program: "a scenario", paths: scenarioPaths)

    private static let scenarioPaths =
        [
            "about", "seed", "speed", "scale", "content", "shared-container",
            "full", "full.speed", "full.scale", "full.repeat", "full.expect",
            "agent", "steps", "expect",
        ] + StepReader.verbs.map { "steps.\($0)" } + StepReader.details.map { "steps.\($0)" }
        + Metric.allCases.flatMap { ["expect.\($0.rawValue)", "full.expect.\($0.rawValue)"] }
}
