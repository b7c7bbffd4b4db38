import CommandLineKit
import Configuration
import Lifecycle
import SQLiteBridge

extension Action {
    /// What happens, in a few words for a person.
    public var label: String {
        switch self {
        case .wait: "time passes"
        case .foreground: "foreground"
        case .background: "background"
        case .suspend: "suspended"
        case .end(let death, let moment):
            death.label + (moment == .uploading ? " in an upload" : "")
        case .network(let network): network.label
        case .proxy(let fault, let times):
            "proxy " + fault.label + (times.map { " (\($0)×)" } ?? "")
        case .disk(let disk, let state): "disk of the \(disk.rawValue) \(state.label)"
        case .clock(let jump):
            "clock set \(jump < .zero ? "" : "+")\(DurationText.text(jump))"
        case .checkpoint(let mode, let times):
            "foreign checkpoint (\(mode.rawValue))" + (times > 1 ? " \(times)×" : "")
        case .sink(let death): "sink: \(death.label)"
        case .busy: "write lock held"
        case .write(let bytes, let pool):
            "\(HumanText.bytes(bytes)) written"
                + (pool == .automatic ? " by a pool that checkpoints" : "")
        case .control(let request): "ctl \(request.line)"
        case .settle: "settling"
        }
    }
}

extension Action.Death {
    public var label: String {
        switch self {
        case .kill: "killed"
        case .memoryKill: "killed for memory"
        case .terminate: "terminated"
        }
    }
}

extension Action.Network {
    public var label: String {
        switch self {
        case .on: "network on"
        case .off: "network off"
        case .slow(let rate): "network \(HumanText.bytes(rate))/s"
        case .flapping(let up, let down):
            "network flapping (\(DurationText.text(up)) up, \(DurationText.text(down)) down)"
        }
    }
}

extension Action.DiskState {
    public var label: String {
        switch self {
        case .ok: "has room"
        case .full(free: 0): "full"
        case .full(let free): "nearly full (\(HumanText.bytes(free)) free)"
        case .slow(let delay): "slow (\(DurationText.text(delay)) a step)"
        }
    }
}

extension ProxyFault {
    /// What it does, in a few words for a person.
    public var label: String {
        switch self {
        case .none: "lets through"
        case .answer(let status, let bytes, _): "answers \(status) after \(HumanText.bytes(bytes))"
        case .resetUpload(let bytes): "resets uploads after \(HumanText.bytes(bytes))"
        case .resetDownload(let bytes): "resets answers after \(HumanText.bytes(bytes))"
        case .stall(let bytes): "stalls after \(HumanText.bytes(bytes))"
        case .duplicate: "sends uploads twice"
        case .refuse: "refuses uploads"
        case .corrupt(let place): "corrupts uploads at byte \(place)"
        }
    }

    /// The same with its sizes at a pace.
    func paced(_ pace: Scenario.Pace) -> ProxyFault {
        switch self {
        case .answer(let status, let bytes, let retryAfter):
            .answer(status: status, afterBytes: pace.real(bytes), retryAfter: retryAfter)
        case .resetUpload(let bytes): .resetUpload(afterBytes: pace.real(bytes))
        case .resetDownload(let bytes): .resetDownload(afterBytes: pace.real(bytes))
        case .stall(let bytes): .stall(afterBytes: pace.real(bytes))
        case .corrupt(let place): .corrupt(atByte: pace.real(place))
        case .none, .duplicate, .refuse: self
        }
    }
}
