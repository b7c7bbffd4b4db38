package import Bucket
import DurableFiles

/// What a long answer is made of, handed from who has it to the connection that sends it.
///
/// The connection asks when it has sent everything, and only then more is put in: a slow client
/// costs the memory of a few frames, and the open files of those.
package final class FrameQueue: Sendable {
    package enum Item: Sendable {
        case text(String)
        case file(any RandomReader)
    }

    /// What a read got.
    package enum Outcome: Equatable, Sendable {
        case bytes(Int)
        /// Nothing yet; `wake` will be called.
        case wait
        case end
        /// The rest cannot be sent: the connection has to break.
        case broken
    }

    private struct State {
        var items: [Item] = []
        /// How much of the first item is sent.
        var offset: Int64 = 0
        var isEnded = false
        var isBroken = false
        var isClosed = false
        var isWaiting = false
        var wake: (@Sendable () -> Void)?
        var onHungry: (@Sendable () -> Void)?
        var onClose: (@Sendable () -> Void)?
    }

    private let state = Lock(State())

    package init() {}

    /// Sets who is told that everything was sent, and that the connection is gone.
    package func whenHungry(
        _ onHungry: @escaping @Sendable () -> Void,
        closed onClose: @escaping @Sendable () -> Void
    ) {
        state.withLock {
            $0.onHungry = onHungry
            $0.onClose = onClose
        }
    }

    /// Everything was sent, and more is wanted.
    package var isHungry: Bool {
        state.withLock { $0.items.isEmpty && !$0.isEnded && !$0.isBroken && !$0.isClosed }
    }

    /// Whether nobody will read any more.
    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Adds items; after `end` nothing more comes.
    package func append(_ items: [Item], end: Bool = false) {
        change { state in
            guard !state.isEnded else { return }
            state.items += items
            state.isEnded = end
        }
    }

    /// Ends after what is in it already.
    package func end() {
        append([], end: true)
    }

    /// Breaks the connection off.
    package func fail() {
        change { $0.isBroken = true }
    }

    private func change(_ body: (inout State) -> Void) {
        // The wake-up is given inside the lock: a connection that is about to sleep holds it.
        state.withLock { state in
            body(&state)
            if state.isWaiting {
                state.isWaiting = false
                state.wake?()
            }
        }
    }

    /// Fills a buffer with what comes next; one reader at a time.
    ///
    /// - Parameters:
    ///   - buffer: Not empty.
    ///   - wake: Called once when there is something after `wait`, from any thread.
    ///   - sleep: Called under the lock before `wait` is returned; `false` ends the answer.
    /// - Returns: What was put into the buffer, or why nothing was.
    package func read(
        into buffer: UnsafeMutableRawBufferPointer,
        wake: @escaping @Sendable () -> Void,
        sleep: () -> Bool
    ) -> Outcome {
        var done = 0
        while done < buffer.count, let (item, offset) = next() {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            guard let count = Self.copy(item, from: offset, into: rest) else {
                state.withLock { $0.isBroken = true }
                return .broken
            }
            done += count
            advance(item, by: count)
        }
        if done > 0 {
            askForMore()
            return .bytes(done)
        }
        return state.withLock { state in
            if state.isBroken { return .broken }
            // Something may have come since.
            guard state.items.isEmpty else { return .bytes(0) }
            if state.isEnded { return .end }
            guard sleep() else { return .end }
            state.wake = wake
            state.isWaiting = true
            return .wait
        }
    }

    /// The connection is gone.
    package func close() {
        let onClose = state.withLock { state in
            defer {
                state.isClosed = true
                state.items = []
                state.wake = nil
                state.isWaiting = false
                state.onHungry = nil
                state.onClose = nil
            }
            return state.onClose
        }
        onClose?()
    }

    private func next() -> (Item, Int64)? {
        state.withLock { state in
            if state.isBroken { return nil }
            return state.items.first.map { ($0, state.offset) }
        }
    }

    private func advance(_ item: Item, by count: Int) {
        let size: Int64 =
            switch item {
            case .text(let text): Int64(text.utf8.count)
            case .file(let reader): reader.sizeInBytes
            }
        state.withLock { state in
            state.offset += Int64(count)
            guard state.offset >= size, !state.items.isEmpty else { return }
            state.items.removeFirst()
            state.offset = 0
        }
    }

    private func askForMore() {
        let onHungry = state.withLock { state in
            state.items.isEmpty && !state.isEnded ? state.onHungry : nil
        }
        onHungry?()
    }

    /// Copies what fits; `nil` when the item cannot be read as long as it should be.
    private static func copy(
        _ item: Item,
        from offset: Int64,
        into buffer: UnsafeMutableRawBufferPointer
    ) -> Int? {
        switch item {
        case .text(let text):
            let bytes = Array(text.utf8.dropFirst(Int(offset)))
            let count = min(bytes.count, buffer.count)
            buffer.copyBytes(from: bytes[..<count])
            return count
        case .file(let reader):
            let wanted = Int(min(Int64(buffer.count), reader.sizeInBytes - offset))
            guard wanted > 0 else { return 0 }
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
            guard let count = try? reader.read(at: offset, into: part), count == wanted else {
                return nil
            }
            return count
        }
    }
}
