import Bucket
import Configuration
import DurableFiles
import Glibc

/// The sink, the proxy before it, and the disks: what a run needs beside its agent.
actor Bench {
    nonisolated let directory: String
    nonisolated let proxy: FaultProxy?
    private var sink: ChildProcess?
    private var disks: [Action.Disk: BenchDisk] = [:]
    private var clockOffset: Duration = .zero
    private let hasSink: Bool

    nonisolated var device: String { Path.join(directory, "device") }
    nonisolated var sinkData: String { Path.join(directory, "sink") }
    nonisolated var database: String { Path.join(device, "health.db") }
    nonisolated var bucket: String { Path.join(sinkData, "health/bucket") }
    nonisolated var mirror: String { Path.join(sinkData, "health/mirror.sqlite") }
    nonisolated var clockFile: String { Path.join(directory, "clock") }

    nonisolated func slowFile(_ disk: Action.Disk) -> String {
        Path.join(directory, "slow-\(disk.rawValue)")
    }

    /// Makes the directories and mounts what the plan fills.
    ///
    /// - Parameters:
    ///   - directory: Is there and empty.
    ///   - plan: What will happen.
    ///   - room: Bytes of a disk that is going to be full.
    ///   - unit: The agent is a unit: there is no sink, and a proxy only where it says so.
    /// - Throws: `FileError`, and `ChaosError` where a disk cannot be made small.
    init(_ directory: String, _ plan: Plan, room: Int64, unit: ChaosOptions.Unit?) throws {
        self.directory = directory
        hasSink = unit == nil
        for path in [Path.join(directory, "device"), Path.join(directory, "sink")] {
            try DurableFiles.makeDirectories(path)
        }
        if let unit {
            proxy = try unit.proxy.map {
                try FaultProxy(upstream: $0.upstream, port: $0.listen, buffered: 64 << 10)
            }
            return
        }
        proxy = try FaultProxy(upstream: 1, buffered: 64 << 10)
        for item in plan.items {
            guard case .disk(let disk, .full) = item.action, disks[disk] == nil else { continue }
            let path = Path.join(directory, disk.rawValue)
            disks[disk] = try BenchDisk(on: path, sizeInBytes: room)
        }
    }

    // MARK: The sink

    func startSink() async throws {
        guard hasSink, sink == nil else { return }
        let sink = try ChildProcess(
            ["sink", "--data", sinkData, "--listen", "127.0.0.1:0"],
            environment: ["DORMOUSE_SLOW_FILE": slowFile(.sink)]
        )
        self.sink = sink
        while let record = await sink.nextRecord() {
            guard let address = record["address"], let colon = address.lastIndex(of: ":"),
                let port = UInt16(address[address.index(after: colon)...])
            else { continue }
            proxy?.lead(to: port)
            Task { while await sink.nextRecord() != nil {} }
            return
        }
        throw ChaosError("the sink did not start")
    }

    func stopSink(_ death: Action.Death) async {
        guard let sink else { return }
        self.sink = nil
        sink.send(death == .terminate ? SIGTERM : SIGKILL)
        _ = await sink.wait()
    }

    // MARK: Troubles

    func set(_ disk: Action.Disk, _ state: Action.DiskState, _ pace: Scenario.Pace) throws {
        switch state {
        case .ok:
            disks[disk]?.empty()
            unlink(slowFile(disk))
        case .full(let free): try disks[disk]?.fill(leaving: pace.real(free))
        case .slow(let delay):
            let microseconds = Int64(pace.real(delay) / .microseconds(1))
            try write("\(microseconds)\n", to: slowFile(disk))
        }
    }

    func jumpClock(by jump: Duration) throws {
        clockOffset += jump
        try write("\(Int64(clockOffset / .milliseconds(1)))\n", to: clockFile)
    }

    /// Nothing is broken any longer.
    func heal() {
        proxy?.network = .up
        proxy?.decide { _ in .none }
        for disk in Action.Disk.allCases {
            disks[disk]?.empty()
            unlink(slowFile(disk))
        }
    }

    /// In place of what was there at one stroke, so that a reader never finds half a number.
    private func write(_ text: String, to path: String) throws {
        let file = try DurableFile(path)
        try file.write(text)
        try file.publish()
    }

    func end() async {
        await stopSink(.kill)
        proxy?.stop()
        disks = [:]
    }
}
