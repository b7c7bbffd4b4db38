public import Lifecycle
public import SQLiteBridge

/// What can happen to a device, but for how long it lasts.
///
/// Few general kinds: what differs is in their values.
public enum Action: Hashable, Sendable {
    /// Nothing; time passes.
    case wait
    case foreground
    case background
    /// Stopped, and resumed at the end.
    case suspend
    /// The agent ends and is dead until it is launched again.
    case end(Death, when: Moment)
    case network(Network)
    /// What the proxy does to uploads, to so many of them; `nil` until it is told otherwise.
    case proxy(ProxyFault, times: Int?)
    case disk(Disk, DiskState)
    /// The wall clock is set.
    case clock(Duration)
    /// Somebody else checkpoints, so many times.
    case checkpoint(CheckpointMode, times: Int)
    /// The sink ends and is away until it is started again.
    case sink(Death)
    /// Somebody holds the write lock.
    case busy
    /// Another pool of connections writes so many bytes.
    case write(Int64, Connection.Checkpointing)
    /// A request to the agent's control socket.
    case control(ControlRequest)
    /// Waits until nothing is owed, for so long at most.
    case settle

    public enum Death: String, CaseIterable, Sendable {
        /// SIGKILL.
        case kill
        /// For want of memory: SIGKILL, or a real limit where the agent is a unit.
        case memoryKill = "memory-kill"
        /// SIGTERM, and the end is waited for.
        case terminate
    }

    public enum Moment: String, CaseIterable, Sendable {
        case now
        /// As soon as a body is on its way.
        case uploading
    }

    public enum Network: Hashable, Sendable {
        case on, off
        /// Bytes a second of the scenario.
        case slow(rate: Int64)
        case flapping(up: Duration, down: Duration)
    }

    public enum Disk: String, CaseIterable, Sendable {
        case device, sink
    }

    public enum DiskState: Hashable, Sendable {
        case ok
        /// Bytes that are left.
        case full(free: Int64)
        /// How much longer each step takes that changes a file.
        case slow(delay: Duration)
    }
}
