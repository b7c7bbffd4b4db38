import DurableFiles
import LTXCodec
import Transfer
import Wire

extension HTTPBucket {
    /// What is no larger is read whole when it is opened.
    static let memoryLimit: Int64 = 1 << 20

    /// Opens a file: a small one is fetched, a large one is on its way when this returns.
    ///
    /// - Throws: `BucketError.notFound` when the server does not have it any more.
    nonisolated(nonsending) public func open(_ file: BucketFile) async throws -> any RandomReader {
        do throws(BucketError) {
            return file.sizeInBytes <= Self.memoryLimit
                ? try await fetch(file) : try await download(file)
        } catch {
            if case .transfer(let failure) = error, failure.kind == .missing {
                throw BucketError.notFound(level: file.level, name: file.name)
            }
            throw error
        }
    }

    private func route(_ file: BucketFile, offset: Int64 = 0, size: Int64 = 0) -> DatabaseRoute {
        .file(level: file.level, name: file.name, offset: offset, size: size)
    }

    nonisolated(nonsending) private func fetch(
        _ file: BucketFile
    ) async throws(BucketError) -> any RandomReader {
        let request = request(.get, route(file))
        let response = try await ask(request, limit: Int(Self.memoryLimit))
        guard response.body.count == Int(file.sizeInBytes) else {
            throw .transfer(
                TransferFailure(
                    .shortBody,
                    url: request.url,
                    detail: "\(response.body.count) bytes instead of \(file.sizeInBytes)"
                )
            )
        }
        return MemoryReader(bytes: response.body)
    }

    nonisolated(nonsending) private func download(
        _ file: BucketFile
    ) async throws(BucketError) -> any RandomReader {
        let spool: NamelessFile
        do throws(FileError) { spool = try NamelessFile(directory: options.spoolDirectory) } catch {
            throw BucketError(error)
        }
        let request = request(.get, route(file))
        let download = Download(url: request.url, sizeInBytes: file.sizeInBytes, spool: spool)
        let transfer = client.start(request, handler: download)
        let reader = DownloadReader(download, transfer, client: client) { offset, size in
            self.request(.get, route(file, offset: offset, size: size))
        }
        let outcome = await withTaskCancellationHandler {
            do throws(BucketError) {
                try await download.opened()
                return Result<Void, BucketError>.success(())
            } catch {
                return .failure(error)
            }
        } onCancel: {
            transfer.cancel()
        }
        try outcome.get()
        return reader
    }
}
