public import Configuration

/// How a scenario is run.
public struct ChaosOptions: Sendable {
    /// Instead of the scenario's own.
    public var seed: UInt64?
    /// At the pace and length of a full run.
    public var isFull = false
    /// Where everything is left; a temporary directory that is removed, without one.
    public var directory: String?
    /// The agent is a systemd unit, and not a child.
    public var unit: Unit?
    /// Gets a line for each thing that happens.
    public var progress: @Sendable (String) -> Void = { _ in }

    public init() {}

    /// An agent that systemd runs.
    public struct Unit: Sendable {
        public var name: String
        /// What it runs with: where its database and its bucket are.
        public var config: AgentConfig
        /// The port on 127.0.0.1 that its destination names, and the sink's behind it.
        public var proxy: (listen: UInt16, upstream: UInt16)?
        /// The sink's live copy, to be compared.
        public var mirror: String?

        public init(name: String, config: AgentConfig) {
            self.name = name
            self.config = config
        }
    }
}

/// All that there is to say about a run.
public struct ChaosReport: Hashable, Sendable {
    public var story: Story
    public var closing: Closing
    public var verdict: Verdict

    public init(story: Story, closing: Closing, verdict: Verdict) {
        self.story = story
        self.closing = closing
        self.verdict = verdict
    }
}
