import Glibc
import Synchronization

/// Children that would be left over, some of them stopped for ever, when the bench is interrupted.
///
/// A table of numbers, because a signal handler may do little more than look at one.
enum Orphans {
    private static let table = Table()

    static func add(_ processID: pid_t) { table.replace(0, with: processID) }

    static func remove(_ processID: pid_t) { table.replace(processID, with: 0) }

    /// From now on SIGINT, SIGTERM and SIGHUP kill the children before they end the bench.
    static func dieWithUs() {
        for number in [SIGINT, SIGTERM, SIGHUP] {
            signal(number) { number in
                Orphans.table.killAll()
                _exit(128 + number)
            }
        }
    }

    // @unchecked because the memory is made once and its cells are atomic.
    private final class Table: @unchecked Sendable {
        private let cells: UnsafeMutablePointer<Atomic<Int32>>
        private let count = 64

        init() {
            cells = .allocate(capacity: count)
            for index in 0..<count { (cells + index).initialize(to: Atomic(0)) }
        }

        func replace(_ old: Int32, with new: Int32) {
            for index in 0..<count {
                let exchange = cells[index].compareExchange(
                    expected: old,
                    desired: new,
                    ordering: .sequentiallyConsistent
                )
                if exchange.exchanged { return }
            }
        }

        func killAll() {
            for index in 0..<count {
                let processID = cells[index].load(ordering: .sequentiallyConsistent)
                if processID > 0 { kill(processID, SIGKILL) }
            }
        }
    }
}
