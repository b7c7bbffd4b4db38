import Foundation
import Glibc
import SQLiteBridge
import TestSupport
import Testing

@Suite("dormouse sink", .timeLimit(.minutes(2)))
struct SinkCommandTests {
    /// Starts a sink and waits until it says where it listens.
    private func withSink(
        _ words: [String],
        environment: [String: String] = [:],
        _ body: (Running, URL) async throws -> Void
    ) async throws {
        try await withRunning(
            ["sink", "--listen", "127.0.0.1:0"] + words,
            environment: environment
        ) {
            running in
            let line = try await running.line(with: "kind=sink-start", "address=")
            let address = try #require(line.firstMatch(of: /address=([0-9.:]+)/)).output.1
            try await body(running, try #require(URL(string: "http://\(address)")))
        }
    }

    /// The status of an answer to a request with a token.
    private func status(_ url: URL, token: String? = nil) async throws -> String {
        let header = token.map { ["--header", "authorization: Bearer \($0)"] } ?? []
        let outcome = try await runProcess(
            URL(filePath: "/usr/bin/curl"),
            ["-sS", "-m", "30", "-o", "/dev/null", "-w", "%{http_code}"] + header
                + [url.absoluteString]
        )
        return outcome.stdout
    }

    @Test(
        "takes a push, shows it in the mirror, and a signal ends it well",
        arguments: [SIGTERM, SIGINT]
    )
    func serves(signal: Int32) async throws {
        try await withScratch { scratch in
            let app = try scratch.makeDatabase(rows: 10)
            let data = scratch.path("sink")
            try await withSink(["--data", data]) { running, url in
                try await succeed("push", scratch.database, "--to", "\(url)/db/app")
                try await succeed("verify", scratch.database, "\(data)/app/bucket")
                running.signal(signal)
                try await running.line(with: "kind=sink-stop", "msg=stopped")
                #expect(await running.status() == 0)
            }
            try app.close()
        }
    }

    @Test("a second sink of one directory is refused, and told which process has it")
    func second() async throws {
        try await withScratch { scratch in
            let data = scratch.path("sink")
            try await withSink(["--data", data]) { running, _ in
                let outcome = try await dormouse(
                    ["sink", "--data", data, "--listen", "127.0.0.1:0"]
                )
                #expect(outcome.status == 1)
                #expect(outcome.stderr.contains("belongs to another sink"))
                #expect(outcome.stderr.contains("process \(running.processID)"))
            }
        }
    }

    @Test("a sink whose lock was deleted takes it again, or ends where another sink has it")
    func lockDeleted() async throws {
        try await withScratch { scratch in
            let data = scratch.path("sink")
            let often = ["WATCHDOG_USEC": "300000"]
            try await withSink(["--data", data], environment: often) { running, _ in
                let lock = data + "/.lock"
                try FileManager.default.removeItem(atPath: lock)
                while !FileManager.default.fileExists(atPath: lock) {
                    try await Task.sleep(for: .milliseconds(10))
                }
                // Before the first looks again, somebody is quick.
                running.signal(SIGSTOP)
                try FileManager.default.removeItem(atPath: lock)
                try await withSink(["--data", data]) { _, _ in
                    running.signal(SIGCONT)
                    try await running.line(with: "belongs to another sink")
                    #expect(await running.status() == 1)
                }
            }
        }
    }

    @Test(
        "tells the service manager when it listens, when it stops, and when it reads tokens again"
    )
    func notifies() async throws {
        try await withScratch { scratch in
            let manager = try DatagramReceiver(scratch.path("notify"))
            let token = scratch.path("token")
            try "one\n".write(toFile: token, atomically: true, encoding: .utf8)
            try await withSink(
                ["--data", scratch.path("sink"), "--token-file", token],
                environment: ["NOTIFY_SOCKET": manager.path]
            ) { running, url in
                #expect(
                    try manager.next().hasPrefix("READY=1\nSTATUS=listening on \(url.host() ?? "")")
                )
                #expect(try await status(url.appending(path: "metrics")) == "401")
                #expect(try await status(url.appending(path: "metrics"), token: "one") == "200")
                try "two\n".write(toFile: token, atomically: true, encoding: .utf8)
                running.signal(SIGHUP)
                try await running.line(with: "kind=config", "read again")
                while try !manager.next().hasPrefix("RELOADING=1\nMONOTONIC_USEC=") {}
                #expect(try manager.next().hasPrefix("READY=1\n"))
                #expect(try await status(url.appending(path: "metrics"), token: "one") == "401")
                #expect(try await status(url.appending(path: "metrics"), token: "two") == "200")
                try "".write(toFile: token, atomically: true, encoding: .utf8)
                running.signal(SIGHUP)
                try await running.line(with: "kind=config", "level=error", "is empty")
                #expect(try await status(url.appending(path: "metrics"), token: "two") == "200")
                running.signal(SIGTERM)
                while try !manager.next().hasPrefix("STOPPING=1\n") {}
                #expect(await running.status() == 0)
            }
        }
    }

    @Test("shows a renewed certificate after SIGHUP, and keeps the old one when the new is none")
    func certificate() async throws {
        try await withScratch { scratch in
            let (key, certificate) = (scratch.path("key.pem"), scratch.path("certificate.pem"))
            let make = { (name: String) in
                let path = scratch.path(name)
                let made = try await runProcess(
                    URL(filePath: "/usr/bin/openssl"),
                    [
                        "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=x",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", path + ".key", "-out",
                        path,
                    ]
                )
                try #require(made.status == 0, "\(made.stderr)")
            }
            let use = { (name: String) in
                for (from, to) in [(name, certificate), (name + ".key", key)] {
                    try Data(contentsOf: URL(filePath: scratch.path(from)))
                        .write(to: URL(filePath: to), options: .atomic)
                }
            }
            let trusts = { (url: URL, name: String) in
                let outcome = try await runProcess(
                    URL(filePath: "/usr/bin/curl"),
                    ["-sS", "-m", "30", "--cacert", scratch.path(name), url.absoluteString]
                )
                return outcome.status == 0
            }
            try await make("first")
            try await make("second")
            try use("first")
            try await withSink(
                [
                    "--data", scratch.path("sink"), "--tls-certificate", certificate, "--tls-key",
                    key,
                ]
            ) { running, plain in
                let address = plain.absoluteString.dropFirst("http".count)
                let url = try #require(URL(string: "https\(address)"))
                #expect(try await trusts(url, "first"))
                #expect(try await !trusts(url, "second"))
                try use("second")
                running.signal(SIGHUP)
                try await running.line(with: "kind=config", "certificate and key were read again")
                #expect(try await trusts(url, "second"))
                #expect(try await !trusts(url, "first"))
                try Data("nonsense".utf8).write(to: URL(filePath: key))
                running.signal(SIGHUP)
                try await running.line(with: "kind=config", "level=error", "the old ones stay")
                #expect(try await trusts(url, "second"))
                running.signal(SIGTERM)
                #expect(await running.status() == 0)
            }
        }
    }

    @Test("reads its config file, and refuses to open itself to others without a token")
    func configured() async throws {
        try await withScratch { scratch in
            let file = scratch.path("sink.yml")
            let data = scratch.path("sink")
            try "data: \(data)\nlisten: 127.0.0.1:0\n"
                .write(toFile: file, atomically: true, encoding: .utf8)
            try await withRunning(["sink", "--config", file]) { running in
                try await running.line(with: "kind=sink-start")
                running.signal(SIGTERM)
                #expect(await running.status() == 0)
            }
            try "data: \(data)\nlisten: 0.0.0.0:0\n"
                .write(toFile: file, atomically: true, encoding: .utf8)
            let outcome = try await dormouse(["sink", "--config", file])
            #expect(outcome.status == 2)
            #expect(outcome.stderr.contains("\(file):2: listen: 0.0.0.0:0 can be reached"))
        }
    }

    @Test(
        "wrong usage is told and nothing is made",
        arguments: [
            ([], "give --config, or --data"),
            (["--data", "DIR", "--listen", "0.0.0.0:0"], "give --token-file"),
            (["--data", "DIR", "--listen", "localhost:1"], "numeric address"),
            (["--data", "DIR", "--tls-key", "/k"], "--tls-key needs --tls-certificate"),
            (["--data", "DIR", "--tls-certificate", "/c"], "--tls-certificate needs --tls-key"),
            (["--data", "DIR", "--disk-reserve", "95%"], "is not a share from 0% to 90%"),
            (["--config", "/c.yml", "--data", "DIR"], "--config excludes --data"),
        ]
    )
    func usage(words: [String], message: String) async throws {
        try await withScratch { scratch in
            let data = scratch.path("sink")
            let outcome = try await dormouse(["sink"] + words.map { $0 == "DIR" ? data : $0 })
            #expect(outcome.status == 2, "\(outcome.stderr)")
            #expect(outcome.stderr.contains(message), "\(outcome.stderr)")
            #expect(!FileManager.default.fileExists(atPath: data))
        }
    }

    @Test(
        "a token or a certificate that is not there is an error that names it",
        arguments: [
            (["--token-file", "NONE"], "there is no file"),
            (["--tls-certificate", "NONE", "--tls-key", "NONE"], "is not there"),
        ]
    )
    func missing(words: [String], message: String) async throws {
        try await withScratch { scratch in
            let none = scratch.path("none")
            let outcome = try await dormouse(
                ["sink", "--data", scratch.path("sink"), "--listen", "127.0.0.1:0"]
                    + words.map { $0 == "NONE" ? none : $0 }
            )
            #expect(outcome.status != 0)
            #expect(outcome.stderr.contains(none) && outcome.stderr.contains(message))
        }
    }
}

/// The end of a datagram socket on which a service manager listens.
private final class DatagramReceiver: Sendable {
    let path: String
    private let socket: Int32

    init(_ path: String) throws {
        self.path = path
        socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, size) }
        }
        guard result == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        // A message that never comes fails the test instead of holding it.
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    /// The next message.
    func next() throws -> String {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = recv(socket, &bytes, bytes.count, 0)
        guard count >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    deinit { close(socket) }
}
