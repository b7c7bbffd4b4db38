package import Bucket
package import LTXCodec

/// Takes the pages of a state, each one once.
package protocol PageConsumer: AnyObject {
    /// Comes before the first page; a second time if the walk starts anew.
    func begin(_ state: BucketState) throws

    /// Where the next page shall be decoded: one page, valid until the next call.
    func slot() throws -> UnsafeMutableRawBufferPointer

    /// What was last put in the slot is this page of the state.
    func take(_ pgno: Pgno) throws
}

/// Goes through all pages of one state in a bucket, without knowing what for.
///
/// Newest file first: the first version of a page that turns up is the one that counts, and one
/// bit a page remembers which have turned up. One file is open at a time. All files are read to
/// their end and checked in full, also where nothing of them is needed.
package struct StateWalk {
    package struct Result {
        package let plan: RestorePlan
        package let state: BucketState
        /// Bytes of LTX files read, those of a plan that was given up included.
        package let bytesRead: Int64
    }

    package let bucket: any BucketClient
    package let target: RestoreTarget

    package init(bucket: any BucketClient, target: RestoreTarget) {
        self.bucket = bucket
        self.target = target
    }

    /// How often a plan is made when files of it disappear.
    private static let attempts = 3

    /// Bytes of the smallest page frame: its header and one byte.
    private static let smallestFrame: Int64 = 7

    /// Plans from what the bucket lists now.
    nonisolated(nonsending) package func plan() async throws -> RestorePlan {
        // Upwards: what compaction moves up while we list is then seen at least once.
        let listing = try await bucket.listAll()
        do throws(RestorePlanError) {
            return try RestorePlan(for: target, in: listing)
        } catch {
            throw RestoreError.plan(error, address: bucket.address)
        }
    }

    /// Hands all pages of the state to the consumer.
    ///
    /// A file that is gone when its turn comes, because retention or compaction was faster, makes
    /// the walk plan anew and start over.
    ///
    /// - Throws: `RestoreError`, `BucketError`, `CancellationError`, and what the consumer throws.
    nonisolated(nonsending) package func run(
        into consumer: some PageConsumer,
        progress: ((RestoreProgress) -> Void)?
    ) async throws -> Result {
        var bytesRead: Int64 = 0
        var attempt = 1
        while true {
            let plan = try await plan()
            let meter = ProgressMeter(totalBytes: plan.sizeInBytes, report: progress)
            do {
                let state = try await walk(plan, into: consumer, meter: meter)
                return Result(plan: plan, state: state, bytesRead: bytesRead + meter.bytes)
            } catch BucketError.notFound(let level, let name) {
                bytesRead += meter.bytes
                guard attempt < Self.attempts else {
                    let file = plan.files.first { $0.level == level && $0.name == name }
                    guard let file else { throw BucketError.notFound(level: level, name: name) }
                    throw RestoreError.vanishing(file, address: bucket.address)
                }
                attempt += 1
            }
        }
    }

    private nonisolated(nonsending) func walk(
        _ plan: RestorePlan,
        into consumer: some PageConsumer,
        meter: ProgressMeter
    ) async throws -> BucketState {
        var pass: Pass?
        for file in plan.files.reversed() {
            // Too small for a header and a trailer: not worth a download.
            let smallest = Int64(LTXHeader.size + LTXTrailer.size)
            guard file.sizeInBytes >= smallest else {
                throw damaged(file, .truncated(.trailer, offset: file.sizeInBytes))
            }
            let reader = try await bucket.open(file)
            try read(file, from: reader, plan: plan, pass: &pass, into: consumer, meter: meter)
        }
        guard let pass else { preconditionFailure("an empty plan") }
        if let page = pass.seen.firstMissing(except: pass.state.lockPgno) {
            throw notCovered(page: page, commit: pass.state.commit, plan)
        }
        meter.finish()
        return pass.state
    }

    /// What one walk through a plan knows.
    private struct Pass {
        let state: BucketState
        var seen: PageSet
    }

    private func read(
        _ file: BucketFile,
        from reader: any RandomReader,
        plan: RestorePlan,
        pass: inout Pass?,
        into consumer: some PageConsumer,
        meter: ProgressMeter
    ) throws {
        var offset: Int64 = 0
        do {
            var decoder = try LTXDecoder(bufferSize: Self.bufferSize(file)) { buffer in
                try Task.checkCancellation()
                let count = try reader.read(at: offset, into: buffer)
                offset += Int64(count)
                meter.read(count)
                return count
            }
            try check(decoder.header, of: file, pass: pass)
            // A damaged header must not make anyone reserve room for pages that nobody has.
            let commit = pass?.state.commit ?? decoder.header.commit
            guard Int64(commit) <= plan.sizeInBytes / Self.smallestFrame + 1 else {
                try skim(&decoder)
                throw notCovered(page: nil, commit: commit, plan)
            }
            var current = try pass ?? begin(decoder.header, plan: plan, consumer, meter)
            // Given up here, so that the set below is the only reference to its words.
            pass = nil
            while let pgno = try decoder.nextPage(into: consumer.slot()) {
                guard pgno <= commit, current.seen.insert(pgno) else { continue }
                meter.pages = current.seen.count
                try consumer.take(pgno)
            }
            _ = try decoder.finish()
            pass = current
        } catch let error as LTXError {
            throw damaged(file, error)
        }
    }

    /// Checks a header against the file's name and the state.
    private func check(
        _ header: LTXHeader,
        of file: BucketFile,
        pass: Pass?
    ) throws(RestoreError) {
        guard header.minTXID == file.minTXID, header.maxTXID == file.maxTXID else {
            throw RestoreError.misnamed(
                file,
                header: LTXFileName(minTXID: header.minTXID, maxTXID: header.maxTXID),
                address: bucket.address
            )
        }
        guard let pass, header.pageSize != pass.state.pageSize else { return }
        throw .pageSize(
            file,
            header.pageSize,
            last: pass.state.pageSize,
            address: bucket.address
        )
    }

    /// Starts with the header of the last file, which says what the state is.
    private func begin(
        _ header: LTXHeader,
        plan: RestorePlan,
        _ consumer: some PageConsumer,
        _ meter: ProgressMeter
    ) throws -> Pass {
        let state = BucketState(
            txid: plan.txid,
            timestamp: header.timestamp,
            pageSize: header.pageSize,
            commit: header.commit
        )
        meter.totalPages = Int(state.commit) - (state.commit >= state.lockPgno ? 1 : 0)
        try consumer.begin(state)
        return Pass(state: state, seen: PageSet(upTo: state.commit))
    }

    /// Reads a file to its end for nothing but its faults.
    private func skim(_ decoder: inout LTXDecoder) throws {
        let page = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(decoder.header.pageSize),
            alignment: 16
        )
        defer { page.deallocate() }
        while try decoder.nextPage(into: page) != nil {}
        _ = try decoder.finish()
    }

    private func notCovered(page: Pgno?, commit: UInt32, _ plan: RestorePlan) -> RestoreError {
        .notCovered(page: page, commit: commit, txid: plan.txid, address: bucket.address)
    }

    private func damaged(_ file: BucketFile, _ error: LTXError) -> RestoreError {
        .damaged(file, error, address: bucket.address)
    }

    /// A small file gets a small buffer: there may be thousands of them.
    private static func bufferSize(_ file: BucketFile) -> Int {
        Int(min(max(file.sizeInBytes + 1, 4 << 10), 256 << 10))
    }
}

/// Counts what is read, and tells every half percent or MiB, whichever is more.
private final class ProgressMeter {
    private(set) var bytes: Int64 = 0
    var pages = 0
    var totalPages = 0

    private let totalBytes: Int64
    private let step: Int64
    private var due: Int64
    private let report: ((RestoreProgress) -> Void)?

    init(totalBytes: Int64, report: ((RestoreProgress) -> Void)?) {
        self.totalBytes = totalBytes
        self.report = report
        step = max(totalBytes / 200, 1 << 20)
        due = step
    }

    func read(_ count: Int) {
        bytes += Int64(count)
        guard bytes >= due else { return }
        due = bytes + step
        tell()
    }

    func finish() {
        tell()
    }

    private func tell() {
        report?(
            RestoreProgress(
                bytes: bytes,
                totalBytes: totalBytes,
                pages: pages,
                totalPages: totalPages
            )
        )
    }
}
