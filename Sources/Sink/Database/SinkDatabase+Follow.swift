package import Bucket
package import LTXCodec
package import Wire

/// One client that follows the level-0 files of a database.
final class Follower: Sendable {
    let queue = FrameQueue()
    /// The first TXID that it has not got.
    ///
    /// Touched by the database's actor alone.
    nonisolated(unsafe) var next: TXID

    init(from next: TXID) {
        self.next = next
    }
}

extension SinkDatabase {
    /// Files handed to a follower at once: so many are open for it.
    private static let filesAtOnce = 8

    /// Starts a stream of frames from a TXID on.
    package func follow(from seek: TXID) async -> FrameQueue {
        let follower = Follower(from: seek)
        follower.queue.append([.text(StreamFrame.preamble)])
        guard !isShutDown else {
            follower.queue.end()
            return follower.queue
        }
        let id = ObjectIdentifier(follower)
        followers[id] = follower
        follower.queue.whenHungry { [weak self] in
            guard let self else { return }
            Task { await self.feed(id) }
        } closed: { [weak self] in
            guard let self else { return }
            Task { await self.forget(id) }
        }
        if pinger == nil {
            pinger = Task { [weak self, interval = options.pingInterval] in
                while (try? await Task.sleep(for: interval)) != nil {
                    guard let self, await self.pingAll() else { return }
                }
            }
        }
        // The preamble is still in the queue, and goes with what comes first.
        await supply(follower, pings: false, isFirst: true)
        return follower.queue
    }

    private func forget(_ id: ObjectIdentifier) {
        followers[id] = nil
        stopPinging()
    }

    private func feed(_ id: ObjectIdentifier) async {
        guard let follower = followers[id] else { return }
        await supply(follower, pings: false)
    }

    /// Something changed: followers that wait get it.
    func feedAll() {
        guard !followers.isEmpty else { return }
        Task {
            for follower in followers.values { await supply(follower, pings: false) }
        }
    }

    /// Tells those who wait that they are not forgotten; `false` when nobody follows.
    private func pingAll() async -> Bool {
        for follower in followers.values { await supply(follower, pings: true) }
        return !followers.isEmpty
    }

    private func stopPinging() {
        guard followers.isEmpty else { return }
        pinger?.cancel()
        pinger = nil
    }

    /// Ends all streams, in between frames.
    func endFollowers() {
        for follower in followers.values { follower.queue.end() }
        followers = [:]
        stopPinging()
    }

    /// Gives a follower that has sent everything what comes next.
    private func supply(_ follower: Follower, pings: Bool, isFirst: Bool = false) async {
        guard isFirst || follower.queue.isHungry else { return }
        do {
            try await refreshIndex()
            let files = index.files(level: 0).filter { $0.maxTXID >= follower.next }
            switch FollowStep(from: follower.next, head: index.head, files: files) {
            case .end(let frame):
                follower.queue.append([.text(frame.line)], end: true)
                followers[ObjectIdentifier(follower)] = nil
                stopPinging()
            case .send(let files):
                try await send(Array(files.prefix(Self.filesAtOnce)), to: follower)
            case .wait:
                if pings { follower.queue.append([.text(StreamFrame.ping(index.head).line)]) }
            }
        } catch {
            // What is wrong shows where the follower lists the bucket.
            follower.queue.fail()
            followers[ObjectIdentifier(follower)] = nil
            stopPinging()
        }
    }

    private func send(_ files: [BucketFile], to follower: Follower) async throws {
        var items: [FrameQueue.Item] = []
        for file in files {
            let reader: any RandomReader
            do {
                reader = try await bucket.open(file)
            } catch BucketError.notFound {
                // Gone since it was listed: what was sent so far is good, the rest is looked up anew.
                index.forget(level: 0)
                break
            }
            let frame = StreamFrame.ltx(
                level: 0,
                name: file.name,
                sizeInBytes: reader.sizeInBytes
            )
            items += [.text(frame.line), .file(reader)]
            follower.next = file.maxTXID.next
        }
        if items.isEmpty {
            let id = ObjectIdentifier(follower)
            Task { await feed(id) }
        } else {
            follower.queue.append(items)
        }
    }
}

/// What a follower gets next.
package enum FollowStep: Equatable {
    case send([BucketFile])
    case end(StreamFrame)
    case wait

    /// - Parameters:
    ///   - next: The first TXID that the follower has not got.
    ///   - head: The bucket's highest TXID on any level.
    ///   - files: The files of level 0 that end there or later, in ascending order.
    package init(from next: TXID, head: TXID, files: [BucketFile]) {
        // An empty bucket is one that is being filled anew, and proves nothing.
        if head > .zero, head.next < next {
            self = .end(.reset(head))
            return
        }
        var position = next
        var due: [BucketFile] = []
        for file in files where file.maxTXID >= position {
            guard file.minTXID <= position else {
                if due.isEmpty {
                    self = .end(.gap(file.minTXID))
                    return
                }
                break
            }
            due.append(file)
            position = file.maxTXID.next
        }
        if !due.isEmpty {
            self = .send(due)
        } else if head >= next {
            // It is there on a higher level only: the follower has to list.
            self = .end(.gap(head.next))
        } else {
            self = .wait
        }
    }
}
