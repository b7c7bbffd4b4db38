/// Rows that wait for the next flush, stream by stream, in the order they came.
///
/// It is bounded, and nothing in it is ever given up: a row leaves it only when the transaction
/// that holds it has been committed.
struct SampleBuffer {
    /// One stream's part.
    struct Stream {
        var samples: [Sample] = []
        /// Where the source goes on after the last of them; `nil` when none came from it.
        var position: Int64?
    }

    let capacity: Int
    private(set) var streams: [Stream]
    private(set) var count = 0

    init(streamCount: Int, capacity: Int) {
        self.capacity = capacity
        streams = [Stream](repeating: Stream(), count: streamCount)
    }

    var room: Int { capacity - count }

    /// Adds a row; there must be room.
    mutating func append(_ sample: Sample, position: Int64?, to stream: Int) {
        precondition(room > 0, "the buffer is full")
        streams[stream].samples.append(sample)
        if let position { streams[stream].position = position }
        count += 1
    }

    /// Drops everything: it is durable.
    mutating func removeAll() {
        for index in streams.indices {
            streams[index].samples.removeAll(keepingCapacity: true)
            streams[index].position = nil
        }
        count = 0
    }
}
