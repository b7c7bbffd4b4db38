public import Handover

/// What the transfer service has to say.
public enum TransferEvent: Sendable {
    /// A file was uploaded, or could not be.
    case upload(UploadReport)
    /// Something in the spool is no manifest of ours, or lost its file.
    case setAside(name: String, to: String, why: String)
    /// Somebody else has the destination's lock.
    case locked(by: Int32?)
}

/// One attempt at one file.
public struct UploadReport: Sendable {
    public var manifest: Manifest
    public var outcome: Receipt.Outcome
    public var duration: Duration
    /// When the server wants to be asked again, where it said so.
    public var retryAfter: Duration?
    /// The bucket holds more of the file than before, though it failed.
    public var moved = false
}

/// How a run of the transfer service ended.
public enum TransferEnding: Sendable {
    /// Nothing waits any more.
    case empty
    /// Something waits and may work later.
    case later
    /// Something waits for a person, or for the agent to look at the bucket.
    case refused
}
