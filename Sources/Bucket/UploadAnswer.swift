import Transfer
import Wire

/// What the answers of a server with resumable uploads mean (draft-ietf-httpbis-resumable-upload).
///
/// Decisions only: `ResumableUpload` asks and acts.
enum UploadAnswer {
    /// After the request that makes an upload resource.
    enum Creation: Equatable {
        /// The path of the resource, and what it already holds.
        case created(location: String, offset: Int64)
        /// Another dialect may do; else the server has none of this.
        case unsupported
        case failed(TransferFailure)
    }

    /// After a question for the offset.
    enum State: Equatable {
        case at(Int64)
        /// Everything arrived, and was processed.
        case complete
        case gone
        case failed(TransferFailure)
    }

    /// After a part.
    enum Part: Equatable {
        /// The server holds so much now.
        case stored(upTo: Int64)
        /// The server holds another amount than we thought.
        case mismatch(at: Int64)
        /// The target's own answer.
        case final
        case gone
        /// The part is too large for the server or a proxy.
        case tooLarge
        case failed(TransferFailure)
    }

    static func creation(_ response: HTTPResponse, url: String) -> Creation {
        guard let failure = TransferFailure(response, url: url) else {
            guard response.status == 201,
                let location = response.headers["location"].flatMap(path)
            else { return .unsupported }
            return .created(location: location, offset: offset(response) ?? 0)
        }
        // A v1 server finds an empty body short, or does not know the path or the method.
        let refusals = [400, 404, 405, 411, 415, 501]
        guard refusals.contains(response.status), [.refused, .missing].contains(failure.kind)
        else { return .failed(failure) }
        return .unsupported
    }

    static func state(_ response: HTTPResponse, url: String, size: Int64) -> State {
        if let failure = TransferFailure(response, url: url) {
            return failure.kind == .missing ? .gone : .failed(failure)
        }
        if isComplete(response) == true { return .complete }
        guard let offset = offset(response) else {
            return .failed(
                TransferFailure(
                    .badAnswer,
                    url: url,
                    status: response.status,
                    detail: "the answer has no \(WireHeader.uploadOffset)"
                )
            )
        }
        // More than there is: it is not our upload.
        return offset <= size ? .at(offset) : .gone
    }

    static func part(
        _ response: HTTPResponse,
        url: String,
        sent: Range<Int64>,
        size: Int64
    ) -> Part {
        let isLast = sent.upperBound == size
        if isComplete(response) == true { return .final }
        guard let failure = TransferFailure(response, url: url) else {
            if isLast, isComplete(response) == nil { return .final }
            let offset = offset(response) ?? sent.upperBound
            return offset <= size ? .stored(upTo: offset) : .gone
        }
        switch response.status {
        case 409:
            if let offset = offset(response) {
                return offset <= size ? .mismatch(at: offset) : .gone
            }
            // Without an offset it is the target's word about the file.
            return isLast ? .final : .failed(failure)
        case 413: return .tooLarge
        case 404 where failure.kind == .missing, 410 where failure.kind == .missing: return .gone
        default: return .failed(failure)
        }
    }

    /// The path of a `Location`, whose origin does not count: behind a proxy it is often wrong, and
    /// a token must not go to another server.
    static func path(_ location: String) -> String? {
        var path = location[...]
        if let scheme = path.firstRange(of: "://") {
            path = path[scheme.upperBound...]
            guard let slash = path.firstIndex(of: "/") else { return nil }
            path = path[slash...]
        }
        return isPath(path) ? String(path) : nil
    }

    static func isPath(_ text: some StringProtocol) -> Bool {
        text.hasPrefix("/") && text.utf8.count <= 2048
            && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    private static func offset(_ response: HTTPResponse) -> Int64? {
        guard let text = response.headers[WireHeader.uploadOffset], text.utf8.count <= 15,
            !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 })
        else { return nil }
        return Int64(text)
    }

    private static func isComplete(_ response: HTTPResponse) -> Bool? {
        switch response.headers[WireHeader.uploadComplete] {
        case "?1": true
        case "?0": false
        default: nil
        }
    }
}
