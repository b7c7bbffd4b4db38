import Foundation
import LTXCodec
import TestSupport

/// A server with resumable uploads, and whatever a test wants to go wrong with them.
final class UploadServer: Sendable {
    /// What becomes of a part.
    enum Fault: Sendable {
        case none
        /// Of a larger part so many bytes are kept, then this status comes, as from a proxy.
        case status(Int, after: Int)
        /// So many bytes are kept, then the connection is reset.
        case reset(after: Int)
        /// The resource is gone.
        case gone
        /// The part is stored, but the answer is lost.
        case lostAnswer
        /// The target refuses the whole.
        case refused(Int, String)
    }

    struct Part: Equatable, Sendable {
        var offset: Int
        var size: Int
        var isLast: Bool
    }

    struct State: Sendable {
        var creations = 0
        var deletions = 0
        var offsetQuestions = 0
        var parts: [Part] = []
        var plain = 0
        var uploads: [String: [UInt8]] = [:]
        var lengths: [String: Int] = [:]
        /// What was completed, and so stored.
        var stored: [UInt8]?
        var creationHeaders: [String: String] = [:]
        var fault: @Sendable (_ part: Int) -> Fault = { _ in .none }
        var interop = "8"
        var answersAbsoluteLocations = false
    }

    let state = Locked(State())

    func fault(_ fault: @escaping @Sendable (_ part: Int) -> Fault) {
        state.withLock { $0.fault = fault }
    }

    /// Serves one request a connection: on a kept one curl repeats by itself what broke early.
    func serve(_ connection: RawConnection) {
        guard let request = connection.readHead() else { return }
        connection.announcesClose = true
        if handle(request, connection) { connection.hangUp() }
    }

    private func handle(_ request: RawRequest, _ connection: RawConnection) -> Bool {
        if request.path.hasPrefix("/db/x/uploads/") {
            switch request.method {
            case "HEAD": return answerState(request, connection)
            case "PATCH": return append(request, connection)
            case "DELETE":
                state.withLock {
                    $0.deletions += 1
                    $0.uploads[request.path] = nil
                }
                return connection.answer(204)
            default: return connection.answer(405)
            }
        }
        if request.method == "GET" { return connection.answer(200) }
        guard request.headers["upload-complete"] == "?0" else {
            guard let body = connection.readBody(request) else { return false }
            state.withLock {
                $0.plain += 1
                $0.stored = body
            }
            return connection.answer(200, [:], line(request.path, body.count))
        }
        let (location, version) = state.withLock { state -> (String?, String) in
            guard request.headers["upload-draft-interop-version"] == state.interop else {
                return (nil, state.interop)
            }
            state.creations += 1
            state.creationHeaders = request.headers
            let location = "/db/x/uploads/\(state.creations)"
            state.uploads[location] = []
            state.lengths[location] = Int(request.headers["upload-length"] ?? "")
            let origin = state.answersAbsoluteLocations ? "http://elsewhere.invalid:99" : ""
            return (origin + location, state.interop)
        }
        guard let location else {
            return connection.answer(400, ["Upload-Draft-Interop-Version": version])
        }
        return connection.answer(
            201,
            ["Location": location, "Upload-Complete": "?0", "Upload-Offset": "0"]
        )
    }

    private func answerState(_ request: RawRequest, _ connection: RawConnection) -> Bool {
        let (offset, length) = state.withLock { state in
            state.offsetQuestions += 1
            return (state.uploads[request.path]?.count, state.lengths[request.path])
        }
        guard let offset else { return connection.answer(404, isHead: true) }
        let isComplete = offset == length && state.withLock { $0.stored != nil }
        return connection.answer(
            204,
            ["Upload-Offset": "\(offset)", "Upload-Complete": isComplete ? "?1" : "?0"],
            isHead: true
        )
    }

    private func append(_ request: RawRequest, _ connection: RawConnection) -> Bool {
        let size = Int(request.headers["content-length"] ?? "") ?? 0
        let offset = Int(request.headers["upload-offset"] ?? "") ?? -1
        let isLast = request.headers["upload-complete"] == "?1"
        let (fault, held) = state.withLock { state in
            var fault = state.fault(state.parts.count)
            // What is small enough passes.
            if case .status(_, let limit) = fault, size <= limit { fault = .none }
            state.parts.append(Part(offset: offset, size: size, isLast: isLast))
            if case .gone = fault { state.uploads[request.path] = nil }
            return (fault, state.uploads[request.path]?.count)
        }
        guard let held else {
            connection.discard(size)
            return connection.answer(404)
        }
        guard held == offset, request.headers["content-type"] == "application/partial-upload"
        else {
            connection.discard(size)
            return connection.answer(409, ["Upload-Offset": "\(held)", "Upload-Complete": "?0"])
        }
        let kept =
            switch fault {
            case .status(_, let after), .reset(let after): min(size, after)
            case .none, .gone, .lostAnswer, .refused: size
            }
        guard let bytes = connection.read(kept) else { return false }
        let whole = state.withLock { state in
            state.uploads[request.path]? += bytes
            return state.uploads[request.path] ?? []
        }
        switch fault {
        case .status(let status, _):
            connection.answer(status, ["Connection": "close"], isSink: false)
            connection.waitForClose()
            return false
        case .reset:
            connection.reset()
            return false
        case .refused(let status, let reason):
            return connection.answer(
                status,
                ["Upload-Complete": "?1"],
                Array("\(reason)\n".utf8)
            )
        case .none, .gone, .lostAnswer: break
        }
        if isLast { state.withLock { $0.stored = whole } }
        if case .lostAnswer = fault { return false }
        guard isLast else {
            return connection.answer(
                204,
                ["Upload-Offset": "\(whole.count)", "Upload-Complete": "?0"]
            )
        }
        return connection.answer(
            200,
            ["Upload-Complete": "?1"],
            line("/\(name(1, 1))", whole.count)
        )
    }

    private func line(_ path: String, _ size: Int) -> [UInt8] {
        Array("\(path.split(separator: "/").last ?? "") \(size) 5\n".utf8)
    }
}
