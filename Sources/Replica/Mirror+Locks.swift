import SQLiteBridge

extension Mirror {
    /// Takes RESERVED, waiting for another writer or a rollback to end.
    func reserve(_ file: MirrorFile, until deadline: Deadline?) async throws {
        while let holder = try file.reserve() {
            try await wait(for: holder, .milliseconds(20), until: deadline)
        }
        board.update { $0.blockedBy = nil }
    }

    /// Takes EXCLUSIVE, waiting for all readers to end their transactions.
    ///
    /// New readers are kept out for a bout at a time only: one that stays for a minute must not
    /// shut the mirror for all others, and a crowd that comes and goes must not starve us.
    func exclude(_ file: MirrorFile, until deadline: Deadline?) async throws {
        while true {
            let bout = ContinuousClock.now + options.exclusionBout
            var step = Duration.milliseconds(1)
            while let holder = try file.exclude() {
                guard ContinuousClock.now < bout else { break }
                try await wait(for: holder, step, until: deadline)
                step = min(step * 2, .milliseconds(20))
            }
            if file.isExclusive {
                board.update { $0.blockedBy = nil }
                return
            }
            try file.admitReaders()
            let pause = ContinuousClock.now + options.pauseBetweenBouts
            while ContinuousClock.now < pause, let holder = try file.reader() {
                try await wait(for: holder, .milliseconds(20), until: deadline)
            }
        }
    }

    /// Waits a step for somebody else's lock, and says whose.
    func wait(
        for holder: LockHolder,
        _ step: Duration,
        until deadline: Deadline?
    ) async throws {
        board.update { $0.blockedBy = holder }
        if let deadline, ContinuousClock.now >= deadline {
            throw MirrorError.lockBusy(path: path, holder)
        }
        try await Task.sleep(for: step)
    }
}
