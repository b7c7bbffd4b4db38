import Wire

extension SinkService {
    func ingest(
        _ body: RequestBody,
        _ name: DatabaseName,
        _ claim: WriteClaim
    ) async throws -> HTTPResponse {
        .refusal(501, "ingest")
    }
}
