public import DurableFiles
public import LTXCodec
public import Transfer

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Why a bucket could not do what it was asked to: what, where, and what to do about it.
public enum BucketError: Error, Equatable, Sendable {
    /// The directory that should hold the bucket does not exist.
    case missing(path: String)
    /// Something that is no bucket stands there.
    case notABucket(path: String, why: String)
    /// The tree of an object store was found in a directory.
    case otherLayout(path: String)
    /// The system forbids it; somebody must change an owner or a mode.
    case denied(FileError)
    /// The file system is mounted for reading only.
    case readOnly(FileError)
    /// The disk or the quota is full.
    case noSpace(FileError)
    /// Other bytes stand under the name of a file to be stored.
    case conflict(level: Int, name: LTXFileName)
    /// The server does not take the write: it does not continue its head, or another writer has the
    /// lease. `reason` is the server's line.
    case fenced(reason: String)
    /// A request to a server failed.
    case transfer(TransferFailure)
    /// A file is not there, or not any more.
    case notFound(level: Int, name: LTXFileName)
    /// The local file is not the one that was announced.
    case sourceSize(path: String, expected: Int64, actual: Int64)
    /// An address that cannot be understood; `text` holds no secrets.
    case badAddress(text: String, why: String)
    /// An address this version has no backend for.
    case unsupported(BucketAddress)
    /// Another failure of the system.
    case io(FileError)

    /// Sorts a system error by who can do something about it.
    init(_ error: FileError) {
        if error.isNoSpace {
            self = .noSpace(error)
        } else if error.code == EROFS {
            self = .readOnly(error)
        } else if error.isDenied {
            self = .denied(error)
        } else {
            self = .io(error)
        }
    }
}

extension BucketError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .missing(let path):
            "no directory \(path): create it, mount it, or correct the bucket's address"
        case .notABucket(let path, let why):
            "\(path) is not a bucket: \(why)"
        case .otherLayout(let path):
            "\(path) holds a bucket in the layout of object stores (0000/…), not of directories "
                + "(ltx/0/…): move 0000 to ltx/0, 0001 to ltx/1 and so on"
        case .denied(let error):
            "\(error): give the user that runs this access to the bucket"
        case .readOnly(let error):
            "\(error): mount the bucket's file system for writing"
        case .noSpace(let error):
            "\(error): make room where the bucket is"
        case .conflict(let level, let name):
            "\(level)/\(name) is already in the bucket with other content: "
                + "another writer uses this bucket, or the database was replaced"
        case .fenced(let reason):
            "the server refuses the write: \(reason)"
        case .transfer(let failure):
            "\(failure)"
        case .notFound(let level, let name):
            "\(level)/\(name) is not in the bucket"
        case .sourceSize(let path, let expected, let actual):
            "\(path) has \(actual) bytes instead of \(expected): it was changed or cut; "
                + "it is not stored"
        case .badAddress(let text, let why):
            "bucket address \(text): \(why)"
        case .unsupported(.http(let address)):
            "\(BucketAddress.http(address)): the server does not take whole databases"
        case .unsupported(let address):
            "\(address): not supported by this version yet; use a directory"
        case .io(let error):
            "\(error)"
        }
    }
}
