import Collector
import Foundation
import SQLiteBridge
import TestSupport
import Testing

/// 2026-03-02 00:00:00 UTC, where the simulated days begin.
let monday = SampleTime(seconds: 1_772_409_600)

func recordingPath() -> String { Shared.data.appending(path: "recorded-1hz.csv").path }

/// The recorded file as one stream, as fast as possible.
func recordedStream(
    path: String = recordingPath(),
    start: SampleTime? = monday,
    speed: Double = .infinity
) -> StreamDefinition {
    StreamDefinition(
        name: "watch",
        columns: [
            ColumnDefinition("heart_rate_bpm", .integer),
            ColumnDefinition("cadence_rpm", .integer),
            ColumnDefinition("altitude_m", .real),
        ],
        source: .recording(RecordingDefinition(path: path, start: start, speed: speed))
    )
}

extension Collector {
    /// Pulls and flushes until every source has ended.
    func drain() throws -> FlushReport {
        var sum = FlushReport()
        while true {
            let report = pull(upTo: .seconds(1_000_000_000))
            #expect(report.failed.isEmpty)
            let flushed = try flush()
            sum.offered += flushed.offered
            sum.inserted += flushed.inserted
            if report.nextDue == nil { return sum }
        }
    }
}

/// Reads one number with a connection of its own.
func integer(_ sql: String, in path: String) throws -> Int64 {
    let connection = try Connection(path: path)
    defer { try? connection.close() }
    return try #require(connection.value(sql)?.integer)
}

/// All rows of a query, cell by cell, with a connection of its own.
func rows(_ sql: String, in path: String) throws -> [[SQLiteValue]] {
    let connection = try Connection(path: path)
    defer { try? connection.close() }
    let statement = try connection.prepare(sql)
    var rows: [[SQLiteValue]] = []
    while try statement.step() { rows.append((0..<statement.columnCount).map(statement.column)) }
    return rows
}

/// Two bare columns, fed by `append` alone: the source of the stream is an empty recording.
func manualStream(in directory: URL, name: String = "manual") throws -> StreamDefinition {
    let file = directory.appending(path: "\(name).csv")
    try Data("offset_s,count,level\n".utf8).write(to: file)
    return StreamDefinition(
        name: name,
        columns: [ColumnDefinition("count", .integer), ColumnDefinition("level", .real)],
        source: .recording(RecordingDefinition(path: file.path))
    )
}

func manualSample(
    second: Int64,
    count: SampleValue = .integer(1),
    level: SampleValue = .real(0.5),
    device: String = "bench"
) -> Sample {
    Sample(
        device: device,
        time: SampleTime(seconds: monday.seconds + second),
        values: [count, level]
    )
}

/// The events of a loop, in order.
actor EventLog {
    private(set) var events: [CollectorEvent] = []

    func add(_ event: CollectorEvent) { events.append(event) }

    var flushes: [FlushReport] {
        events.compactMap { if case .flushed(let report) = $0 { report } else { nil } }
    }
}
