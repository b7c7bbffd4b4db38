import Bucket
import CommandLineKit
import Replica
import SQLiteBridge
import Transfer

extension ExitCode {
    /// How a verb that meets an error ends: as a push that meets it would.
    init(ending error: any Error) {
        self =
            switch error {
            case let error as BucketError: Self.of(error)
            case let error as SQLiteError where error.isBusy: .tryAgain
            case RestoreError.busy, RestoreError.vanishing: .tryAgain
            default: .failed
            }
    }

    private static func of(_ error: BucketError) -> ExitCode {
        switch error {
        case .denied, .readOnly, .missing, .notABucket, .otherLayout: .refused
        case .badAddress, .unsupported: .usage
        case .noSpace: .tryAgain
        case .conflict, .fenced, .notFound, .io, .sourceSize: .failed
        case .transfer(let failure): failure.kind.isRetryable ? .tryAgain : .refused
        }
    }
}
