public import Bucket
public import DurableFiles
public import LTXCodec

/// Why a state could not be read from a bucket, or not be written: what, where, what to do.
///
/// Failures of the bucket itself come as `BucketError`, a cancelled task as `CancellationError`.
public enum RestoreError: Error, Equatable, Sendable {
    /// The bucket does not hold the state that is wanted.
    case plan(RestorePlanError, address: BucketAddress)
    /// A file of the plan is damaged.
    case damaged(BucketFile, LTXError, address: BucketAddress)
    /// The header of a file names another TXID range than its name.
    case misnamed(BucketFile, header: LTXFileName, address: BucketAddress)
    /// A file has another page size than the last file of the plan.
    case pageSize(BucketFile, UInt32, last: UInt32, address: BucketAddress)
    /// The files of the plan hold too few pages; `page` is the first that is missing, `nil` if
    /// so few bytes cannot hold so many pages at all.
    case notCovered(page: Pgno?, commit: UInt32, txid: TXID, address: BucketAddress)
    /// Files of the plan are deleted faster than they can be read.
    case vanishing(BucketFile, address: BucketAddress)
    /// These files stand where the database should be written.
    case exists([String])
    /// The output path is a directory or something else that is no file.
    case notAFile(String)
    /// Another restore writes the same output.
    case busy(String)
    /// The file system has too little room for the database.
    case noSpace(path: String, needed: Int64, available: Int64)
    /// The database cannot be written.
    case output(FileError)
    /// The integrity check found faults.
    case integrity([String], address: BucketAddress, txid: TXID)
}

extension RestoreError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .plan(let error, let address):
            "\(address): \(error)"
        case .damaged(let file, let error, let address):
            "\(address): \(file) is damaged: \(error); "
                + "restore an earlier state, or replace the file from another copy"
        case .misnamed(let file, let header, let address):
            "\(address): \(file) holds \(header): it was renamed; give it its own name again"
        case .pageSize(let file, let size, let last, let address):
            "\(address): \(file) has pages of \(size) bytes, later files of \(last): "
                + "the database was replaced; restore a state from before or after that"
        case .notCovered(let page, let commit, let txid, let address):
            "\(address): the files for TXID \(txid) lack "
                + (page.map { "page \($0) of \(commit)" } ?? "most of \(commit) pages")
                + ": the backup is incomplete; restore an earlier state"
        case .vanishing(let file, let address):
            "\(address): \(file) was deleted while it was needed, again and again: "
                + "let retention keep files longer, then try again"
        case .exists(let paths):
            "\(paths.joined(separator: ", ")) \(paths.count == 1 ? "exists" : "exist"): "
                + "move away what you need, or ask to overwrite"
        case .notAFile(let path):
            "\(path) is not a file: give the path of the database file to write"
        case .busy(let path):
            "\(path) is being restored by another process: wait for it"
        case .noSpace(let path, let needed, let available):
            "\(path): the database takes \(needed) bytes, and \(available) are free there: "
                + "make room, or restore to another file system"
        case .output(let error):
            error.isNoSpace
                ? "\(error): make room, or restore to another file system"
                : "\(error): nothing was restored"
        case .integrity(let problems, let address, let txid):
            "\(address): TXID \(txid) fails the integrity check, nothing was restored: "
                + problems.joined(separator: "; ")
        }
    }
}
