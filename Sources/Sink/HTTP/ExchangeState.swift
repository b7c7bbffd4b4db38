/// What one request is waiting for: a value that takes what the connection saw and says what to
/// do next.
///
/// The library calls for the head, for each part of the body and for the end; an answer can be
/// given instead of reading the body, or after the body, but not amidst of it. So a body that is
/// not wanted is read to its end and thrown away, if it ends soon.
package struct ExchangeState {
    package enum Phase: Equatable {
        case head
        /// The service has a second look at the head.
        case asking
        case body
        /// Throws the rest of the body away; the answer is known.
        case draining
        case handling
        case done
    }

    package enum Action {
        /// Go on reading.
        case proceed
        /// Sleep, and ask the service about the head.
        case ask(RequestHead)
        /// Sleep, and let the service answer.
        case handle(HTTPRequest)
        /// Send the answer; `lingers` when bytes of the body are left unread.
        case answer(HTTPResponse, lingers: Bool)
        /// Send the answer amidst of the body, and end the connection.
        case cut(HTTPResponse)
        /// End the connection.
        case close
    }

    /// Bodies that are thrown away: known to be this short, the connection lives on.
    package static let drainLimit: Int64 = 1 << 20
    /// As much is thrown away where nothing else helps.
    package static let drainBound: Int64 = 64 << 20

    package private(set) var phase = Phase.head
    private(set) var head: RequestHead?
    private var receiver: BodyReceiver?
    private var sink: (any BodySink)?
    private var answer: HTTPResponse?
    private var preparation: Preparation?
    private var received: Int64 = 0
    private var drained: Int64 = 0

    package init() {}

    /// The head is there.
    package mutating func headArrived(
        _ head: RequestHead,
        _ admission: Admission,
        spool: Spool
    ) -> Action {
        self.head = head
        if case .malformed(let reason) = head.framing {
            phase = .done
            return .answer(.refusal(400, reason), lingers: true)
        }
        switch admission {
        case .refuse(let response): return refuse(response)
        case .receive(let limit): return receive(limit: limit, spool)
        case .ask:
            phase = .asking
            return .ask(head)
        }
    }

    /// The service has had its second look; the connection is still asleep.
    package mutating func prepared(_ preparation: Preparation) {
        self.preparation = preparation
    }

    /// The service has answered; the connection is still asleep.
    package mutating func answered(_ response: HTTPResponse) {
        answer = response
    }

    /// The connection was woken, or the body is at its end.
    package mutating func called(spool: Spool) -> Action {
        switch phase {
        case .asking: return asked(spool)
        case .body: return bodyEnded()
        case .draining, .handling:
            phase = .done
            guard let answer else { return .close }
            return .answer(answer, lingers: false)
        case .head, .done: return .close
        }
    }

    private mutating func asked(_ spool: Spool) -> Action {
        switch preparation {
        case nil: return .close
        case .refuse(let response)?: return refuse(response)
        case .receive(let limit)?: return receive(limit: limit, spool)
        case .feed(let sink)?:
            self.sink = sink
            phase = .body
            return .proceed
        }
    }

    private mutating func receive(limit: Int64, _ spool: Spool) -> Action {
        if case .length(let length)? = head?.framing, length > limit {
            return refuse(BodyReceiver.tooLarge(limit))
        }
        receiver = BodyReceiver(limit: limit, spool: spool)
        phase = .body
        return .proceed
    }

    private mutating func refuse(_ response: HTTPResponse) -> Action {
        let length: Int64? =
            switch head?.framing {
            case .length(let length)?: length
            case .chunked?: nil
            default: 0
            }
        // A client that waits for leave to send sends nothing now.
        if let length, length <= Self.drainLimit, length == 0 || head?.expectsContinue != true {
            phase = .draining
            answer = response
            return .proceed
        }
        phase = .done
        return .answer(response, lingers: true)
    }

    /// A part of the body is there.
    package mutating func bodyArrived(_ bytes: UnsafeRawBufferPointer) -> Action {
        received &+= Int64(bytes.count)
        switch phase {
        case .body:
            let refusal: HTTPResponse?
            if let sink { refusal = sink.write(bytes) } else { refusal = receiver?.write(bytes) }
            guard let refusal else { return .proceed }
            dropBody()
            answer = refusal
            phase = .draining
            return mayDrain ? .proceed : cut(refusal)
        case .draining:
            drained += Int64(bytes.count)
            guard drained > Self.drainBound, let answer else { return .proceed }
            return cut(answer)
        case .head, .asking, .handling, .done: return .close
        }
    }

    /// Whether what is still to come of the body may be little enough to read it.
    private var mayDrain: Bool {
        guard case .length(let length)? = head?.framing else { return true }
        return length - received <= Self.drainBound
    }

    /// More of the body is to come, and nothing of it is here yet.
    package var lacksBytes: Bool {
        guard phase == .body, case .length(let length)? = head?.framing else { return false }
        return received < length
    }

    /// The client has ended its side amidst of the body.
    package mutating func bodyBroke() -> Action {
        dropBody()
        return cut(Self.shortBody)
    }

    static let shortBody = HTTPResponse.refusal(400, "the body ended before its length")

    private mutating func cut(_ response: HTTPResponse) -> Action {
        phase = .done
        return .cut(response)
    }

    private mutating func bodyEnded() -> Action {
        guard let head else { return .close }
        let body: RequestBody = if let sink { .taken(sink) } else { receiver?.body ?? .none }
        phase = .handling
        sink = nil
        receiver = nil
        return .handle(HTTPRequest(head, body: body))
    }

    /// The connection is gone; says whether that was amidst of a body.
    package mutating func ended() -> Bool {
        let wasCut = phase == .body
        dropBody()
        phase = .done
        return wasCut
    }

    private mutating func dropBody() {
        sink?.abandon()
        sink = nil
        receiver = nil
    }
}
