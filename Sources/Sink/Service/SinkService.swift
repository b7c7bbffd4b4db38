import Bucket
import DurableFiles
import LTXCodec
import SQLiteBridge
import Synchronization
import Wire

/// The protocol of a sink, without the socket: requests in, answers out.
package final class SinkService: HTTPHandler {
    package let options: SinkOptions
    package let spool: Spool
    package let metrics = Metrics()
    let catalog: Catalog
    let imageChecker = ImageChecker()
    let intakes = IntakeDesk()
    private let verifiers: [FileVerifier]
    private let nextVerifier = Atomic<Int>(0)

    /// - Throws: `FileError` when the directory cannot be used.
    package init(_ options: SinkOptions) throws {
        self.options = options
        try DurableFiles.makeDirectories(options.data)
        // The dot keeps it apart from every name of a database.
        spool = try Spool(Path.join(options.data, ".spool"))
        catalog = Catalog(options)
        verifiers = (0..<2).map { _ in FileVerifier() }
    }

    var verifier: FileVerifier {
        verifiers[Int(nextVerifier.add(1, ordering: .relaxed).newValue.magnitude) % verifiers.count]
    }

    // MARK: By the head alone

    package func admit(_ head: RequestHead) -> Admission {
        let admission = judge(head)
        if case .refuse(let response) = admission { count(response) }
        return admission
    }

    func count(_ response: HTTPResponse) {
        metrics.add(to: .requests, Metrics.Label("status", "\(response.status)"))
    }

    private func judge(_ head: RequestHead) -> Admission {
        if let refusal = HeadLimits.refusal(head) { return .refuse(refusal) }
        // The health check carries no secrets; anything else is not even told apart without a token.
        let isHealth = head.path == "/" && head.method == "GET"
        let access = options.tokens.access(authorization: head["authorization"])
        guard isHealth || access > .none else {
            return .refuse(
                .refusal(401, "authorization required", headers: [("www-authenticate", "Bearer")])
            )
        }
        let route: Route
        do throws(Route.Refusal) {
            route = try Route(path: head.path, query: head.query)
        } catch {
            switch error {
            case .unknown: return .refuse(.refusal(404, "not found"))
            case .malformed(let why): return .refuse(.refusal(400, why))
            }
        }
        return admit(head, route, access)
    }

    private func admit(_ head: RequestHead, _ route: Route, _ access: Access) -> Admission {
        let rules = RouteRules(route)
        guard rules.methods.contains(head.method) else {
            return .refuse(
                .refusal(
                    405,
                    "\(head.method) is not for this path",
                    headers: [("allow", rules.methods.joined(separator: ", "))]
                )
            )
        }
        if route != .health, RouteRules.access(head.method) > access {
            return .refuse(.refusal(403, "read-only"))
        }
        guard rules.bodies.contains(head.method) else { return .receive(limit: 0) }
        if let coding = head["content-encoding"], coding.lowercased() != "identity" {
            return .refuse(.refusal(415, "content-encoding \(coding) is not understood"))
        }
        switch head.framing {
        case .none: return .refuse(.refusal(411, "send content-length, or chunks"))
        case .malformed(let why): return .refuse(.refusal(400, why))
        case .length(let length) where length > options.maxUpload:
            return .refuse(BodyReceiver.tooLarge(options.maxUpload))
        case .length(let length) where length <= Int64(BodyReceiver.memoryLimit):
            // Looked at when it is here. A part of an upload has to be written where it belongs.
            if case .database(_, .upload) = route { return .ask }
            if UploadHeaders({ head[$0] }).isComplete == false { return .ask }
            return .receive(limit: options.maxUpload)
        case .length, .chunked: return .ask
        }
    }

    // MARK: Answers

    package func handle(_ request: HTTPRequest) async -> HTTPResponse {
        let response = await answer(request)
        count(response)
        return response
    }

    private func answer(_ request: HTTPRequest) async -> HTTPResponse {
        guard let route = try? Route(path: request.head.path, query: request.head.query) else {
            return .refusal(404, "not found")
        }
        switch route {
        case .health: return .text("dormouse sink, liters protocol 1\n")
        case .metrics: return await metricsPage()
        case .database(let name, let route):
            do {
                return try await answer(request, name, route)
            } catch {
                return failure(error, name)
            }
        }
    }

    /// The answer to a request that failed for a reason of ours.
    func failure(_ error: any Error, _ name: DatabaseName) -> HTTPResponse {
        options.report(.failed(database: name.description, what: "\(error)"))
        switch error {
        case let error as FileError: return .failure(error)
        case BucketError.noSpace(let error), BucketError.denied(let error),
            BucketError.readOnly(let error), BucketError.io(let error):
            return .failure(error)
        case is CancellationError: return .refusal(503, "the sink is being stopped")
        default: return .refusal(500, "the sink failed; its log says why")
        }
    }
}
