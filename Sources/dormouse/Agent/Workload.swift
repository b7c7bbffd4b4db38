import DurableFiles

/// The work of the app whose database is replicated, as the phases start it and bring it to rest.
protocol Workload: Sendable {
    /// What it is doing, for the watchdog; changes with each start.
    var readings: [Progress.Reading] { get async }

    /// Begins, or begins again.
    func start() async throws

    /// Makes what it holds in memory durable.
    func flush() async throws

    /// Ends with a last flush and lets the database go; `start` begins again.
    ///
    /// At rest it stays at rest.
    func rest() async throws
}
