extension ChaosRun {
    /// Makes the network another one, for as long as the item lasts or until the next.
    func set(_ network: Action.Network, _ item: Plan.Item) async throws {
        guard let proxy = bench.proxy else { return }
        flapping?.cancel()
        flapping = nil
        closeSpan(.network)
        tell(network.label)
        let from = book.now
        switch network {
        case .on: proxy.network = .up
        case .off: proxy.network = .down
        case .slow(let rate):
            proxy.network = .slow(bytesPerSecond: pace.realRate(rate))
        case .flapping(let up, let down):
            let (up, down) = (pace.real(up), pace.real(down))
            flapping = Task {
                while !Task.isCancelled {
                    proxy.network = .up
                    try await Task.sleep(for: max(up, .milliseconds(1)))
                    proxy.network = .down
                    try await Task.sleep(for: max(down, .milliseconds(1)))
                }
            }
        }
        if network != .on { open[.network] = (network.label, from) }
        guard item.lasts > .zero else { return }
        try await pass(item.lasts)
        try await set(.on, Plan.Item(.network(.on)))
    }

    /// Lets the proxy do something to uploads.
    func set(_ fault: ProxyFault, _ times: Int?, _ item: Plan.Item) async throws {
        guard let proxy = bench.proxy else { return }
        closeSpan(.trouble)
        tell(item.action.label)
        let paced = fault.paced(pace)
        let counter = FaultCounter(times)
        proxy.decide { request in
            request.isUpload && counter.takesOne() ? paced : .none
        }
        if fault != .none {
            open[.trouble] = (item.action.label, book.now)
            counted = counter
        }
        guard item.lasts > .zero else { return }
        try await pass(item.lasts)
        proxy.decide { _ in .none }
        closeSpan(.trouble)
    }

    /// Ends a state that went on until something else.
    func closeSpan(_ lane: Story.Lane) {
        guard let (label, from) = open.removeValue(forKey: lane) else { return }
        var to = book.now
        if lane == .trouble {
            if let ended = counted?.ended { to = min(to, max(from, ended - book.start)) }
            counted = nil
        }
        story.spans.append(Story.Span(lane, label, from: from, to: to))
    }
}
