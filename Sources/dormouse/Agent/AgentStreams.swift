import Collector
import Configuration

extension StreamDefinition {
    /// A configured stream as the collector takes it.
    init(_ stream: AgentConfig.Stream, device: String, speed: Double) {
        self.init(
            name: stream.name,
            columns: stream.columns.map {
                ColumnDefinition($0.name, $0.type == .integer ? .integer : .real)
            },
            source: SourceDefinition(stream.source, device: device, speed: speed)
        )
    }
}

extension SourceDefinition {
    fileprivate init(_ source: AgentConfig.Source, device: String, speed: Double) {
        switch source {
        case .simulated(let simulated):
            self = .strap(StrapDefinition(simulated, device: device, speed: speed))
        case .csv(let csv):
            self = .recording(RecordingDefinition(csv, device: device, speed: csv.speed))
        case .backfill(let backfill):
            let bank: SourceDefinition =
                switch backfill.bank {
                // The device's time runs at the collector's speed, and its bank fills so; `speed`
                // of the backfill says how much faster it is drained.
                case .simulated(let simulated):
                    .strap(StrapDefinition(simulated, device: device, speed: speed))
                case .csv(let csv):
                    .recording(RecordingDefinition(csv, device: device, speed: speed))
                }
            self = .backfill(
                bank,
                BackfillDefinition(
                    multiple: backfill.speed,
                    batch: backfill.batchRows,
                    history: backfill.history,
                    bank: backfill.capacity
                )
            )
        }
    }
}

extension StrapDefinition {
    fileprivate init(_ simulated: AgentConfig.Simulated, device: String, speed: Double) {
        let signal: Signal =
            switch simulated.signal {
            case .heartRate: .heartRate
            case .rrInterval: .rrInterval
            case .gravity: .gravity
            }
        self.init(seed: simulated.seed, signal: signal, device: device, speed: speed)
    }
}

extension RecordingDefinition {
    fileprivate init(_ csv: AgentConfig.CSV, device: String, speed: Double) {
        self.init(path: csv.file, device: device, timeColumn: csv.timeColumn, speed: speed)
    }
}
