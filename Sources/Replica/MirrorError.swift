package import Bucket
package import DurableFiles
package import LTXCodec

/// Why a mirror could not be brought further: what, where, what to do.
///
/// Nothing is lost by any of them: the mirror stays at the state it had.
package enum MirrorError: Error, Equatable, Sendable {
    /// A reader's or another one's lock is in the way; it can pass by itself.
    case lockBusy(path: String, LockHolder)
    /// A file of the bucket is damaged.
    case damaged(BucketFile, String)
    /// The header of a file names another TXID range than its name.
    case misnamed(BucketFile, header: LTXFileName)
    /// A delta has pages of another size than the mirror.
    case pageSize(UInt32, mirror: UInt32, txid: TXID)
    /// A delta makes the database larger and lacks this page of what is new.
    case hole(Pgno, commit: UInt32, txid: TXID)
    /// The bucket cannot be followed from where the mirror is.
    case unreachable(position: TXID, RestorePlanError)
    /// No file of the bucket joins the mirror's state.
    case gap(position: TXID, next: TXID)
    /// Somebody else wrote into the mirror, or replaced its file.
    case changedByAnother(path: String, why: String)
    /// Files of the bucket are deleted faster than they can be read.
    case vanishing(BucketFile)
    /// The disk or the system refused.
    case file(FileError)
}

extension MirrorError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .lockBusy(let path, let holder):
            "\(path): \(holder) is inside a transaction: it ends by itself, or end that process"
        case .damaged(let file, let why):
            "\(file) is damaged: \(why); replace it from another copy, or rebase"
        case .misnamed(let file, let header):
            "\(file) holds \(header): it was renamed; give it its own name again"
        case .pageSize(let size, let mirror, let txid):
            "TXID \(txid) has pages of \(size) bytes, the mirror of \(mirror): "
                + "only a snapshot may change that"
        case .hole(let pgno, let commit, let txid):
            "TXID \(txid) grows the database to \(commit) pages without page \(pgno): rebase"
        case .unreachable(let position, let error):
            "the mirror is at TXID \(position) and the bucket has no way on: \(error)"
        case .gap(let position, let next):
            "the mirror is at TXID \(position), the bucket goes on at \(next) "
                + "and has no snapshot: rebase"
        case .changedByAnother(let path, let why):
            "\(path): \(why); open mirrors for reading only"
        case .vanishing(let file):
            "\(file) was deleted while it was needed, again and again"
        case .file(let error):
            error.isNoSpace ? "\(error): make room" : "\(error)"
        }
    }

    /// It can pass by itself, soon.
    package var isBusy: Bool { if case .lockBusy = self { true } else { false } }
}
