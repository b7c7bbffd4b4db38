/// Reads an upload while it arrives.
///
/// It hears of bytes that are durable only: those never change any more, whoever appends next.
/// Called under the upload's lock, so it must not call back, nor wait.
public protocol UploadFollower: AnyObject, Sendable {
    /// So many bytes of the part file stand.
    func advance(to offset: Int64)

    /// There is no more to come.
    func complete()

    /// The upload is gone.
    func cancel()
}
