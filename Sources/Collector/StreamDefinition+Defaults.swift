extension StreamDefinition {
    /// The three 1 Hz streams of one simulated strap, which banks what nobody takes.
    ///
    /// - Parameters:
    ///   - seed: The strap's seed.
    ///   - device: The strap's name.
    ///   - speed: Device seconds a second of real time.
    ///   - backfill: How a bank is drained, after an outage too.
    /// - Returns: A stream a signal.
    public static func simulatedStrap(
        seed: UInt64,
        device: String = "strap",
        speed: Double = 1,
        backfill: BackfillDefinition = BackfillDefinition()
    ) -> [StreamDefinition] {
        StrapDefinition.Signal.allCases.map { signal in
            let strap = StrapDefinition(seed: seed, signal: signal, device: device, speed: speed)
            return StreamDefinition(
                name: signal.rawValue,
                columns: signal.columns,
                source: .backfill(.strap(strap), backfill)
            )
        }
    }

    /// One stream with every column of a recorded CSV file, numbers throughout.
    ///
    /// - Parameters:
    ///   - name: The stream's name.
    ///   - recording: The file and how to replay it.
    /// - Returns: The stream, with the header's columns but for the time.
    /// - Throws: `RecordingError`, `FileError`, or `StreamProblem` where a header cell cannot be a
    ///   column's name.
    public static func recording(
        name: String = "recorded",
        _ recording: RecordingDefinition
    ) throws -> StreamDefinition {
        let reader = try CSVReader(recording.path)
        guard let header = try reader.next() else {
            throw RecordingError(path: reader.path, line: 1, .empty)
        }
        guard header.contains(recording.timeColumn) else {
            throw RecordingError(
                path: reader.path,
                line: reader.line,
                .missingColumns([recording.timeColumn], found: header)
            )
        }
        let stream = StreamDefinition(
            name: name,
            columns: header.filter { $0 != recording.timeColumn }.map {
                ColumnDefinition($0, .real)
            },
            source: .recording(recording)
        )
        if let problem = problems(in: [stream]).first { throw problem }
        return stream
    }
}
