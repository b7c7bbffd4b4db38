import DurableFiles
public import LTXCodec
import Transfer
import Wire

extension HTTPBucket {
    /// A larger ledger is not taken: 33 million pages.
    private static let ledgerLimit = 64 + 8 * (32 << 20)
    /// A server checks and applies a whole database before it answers.
    private static let ingestDeadline = Duration.seconds(1800)

    nonisolated(nonsending) public func ledger(at txid: TXID) async throws -> PageLedger? {
        let request = request(.get, .ledger(txid))
        let response = try await answer(to: request, limit: Self.ledgerLimit)
        if let failure = TransferFailure(response, url: request.url) {
            if failure.meansNoSuchRoute { return nil }
            throw BucketError.transfer(failure)
        }
        do throws(LedgerFile.Damage) {
            let loaded = try LedgerFile.decode(response.body)
            guard loaded.ledger.txid == txid, loaded.ledger.checksum == loaded.checksum,
                loaded.ledger.firstUnknown == nil
            else { throw .entry }
            return loaded.ledger
        } catch {
            throw BucketError.transfer(
                TransferFailure(
                    .badAnswer,
                    url: request.url,
                    detail: "a ledger of no use: \(error)"
                )
            )
        }
    }

    nonisolated(nonsending) public func ingest(
        _ image: String,
        at txid: TXID,
        timestamp: Int64,
        facts: WriteFacts
    ) async throws {
        var headers = headers(of: facts)
        headers.set(WireHeader.baseTXID, "\(txid)")
        headers.set(WireHeader.timestamp, "\(timestamp)")
        let upload = Upload(
            method: .post,
            url: url(.ingest),
            headers: headers,
            source: try opened(image),
            answerDeadline: max(options.http.deadlines.answer, Self.ingestDeadline)
        )
        let answer = try await send(upload)
        guard let failure = TransferFailure(answer, url: upload.url) else { return }
        if failure.meansNoSuchRoute { throw BucketError.unsupported(address) }
        if failure.kind == .conflict { throw BucketError.fenced(reason: failure.detail) }
        throw BucketError.transfer(failure)
    }
}

extension TransferFailure {
    /// A server of this protocol that does not have what is ours alone; 405 is how one says it that
    /// looks at the method first.
    fileprivate var meansNoSuchRoute: Bool {
        kind == .missing || (kind == .refused && (status == 405 || status == 501))
    }
}
