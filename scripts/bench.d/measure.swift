// Runs one command and writes what it cost as a line of JSON.
//
// A process of its own because a child's peak memory is counted from what its parent holds when it
// is started: below a big parent every small child looks as big as the parent.
//
// Usage: measure RESULT COMMAND [ARGUMENT]...

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

private func fail(_ message: String, _ code: CInt) -> Never {
    fputs("measure: \(message): \(String(cString: strerror(code)))\n", stderr)
    exit(125)
}

private func nanoseconds() -> Int {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec * 1_000_000_000 + now.tv_nsec
}

private func microseconds(_ time: timeval) -> Int {
    time.tv_sec * 1_000_000 + Int(time.tv_usec)
}

private func run(_ program: String, _ arguments: [String], result: String) -> CInt {
    var words: [UnsafeMutablePointer<CChar>?] = [strdup(program)] + arguments.map { strdup($0) }
    words.append(nil)
    var child: pid_t = 0
    let started = nanoseconds()
    let failure = posix_spawnp(&child, program, nil, nil, words, environ)
    if failure != 0 {
        fail("cannot start \(program)", failure)
    }
    var status: CInt = 0
    var usage = rusage()
    while wait4(child, &status, 0, &usage) < 0 {
        if errno != EINTR { fail("wait4", errno) }
    }
    let wall = nanoseconds() - started

    let signal = status & 0x7f
    let code = signal == 0 ? (status >> 8) & 0xff : 128 + signal
    let fields = [
        "\"status\": \(code)",
        "\"wall_ns\": \(wall)",
        "\"user_us\": \(microseconds(usage.ru_utime))",
        "\"system_us\": \(microseconds(usage.ru_stime))",
        "\"peak_kib\": \(usage.ru_maxrss)",
        "\"written_blocks\": \(usage.ru_oublock)",
        "\"waits\": \(usage.ru_nvcsw)",
        "\"preemptions\": \(usage.ru_nivcsw)",
    ]
    guard let file = fopen(result, "w") else { fail("cannot write \(result)", errno) }
    fputs("{\(fields.joined(separator: ", "))}\n", file)
    if fclose(file) != 0 { fail("cannot write \(result)", errno) }
    return code
}

private let words = CommandLine.arguments
if words.count < 3 {
    fputs("usage: measure RESULT COMMAND [ARGUMENT]...\n", stderr)
    exit(2)
}
exit(run(words[2], Array(words.dropFirst(3)), result: words[1]))
