import Configuration
import Foundation
import TestSupport
import Testing
import Wire

@Suite("Where a token is kept")
struct TokenSourceTests {
    @Test(
        "a token is read without the line feed behind it",
        arguments: ["secret", "secret\n", "secret\r\n", "secret\n\n"]
    )
    func read(text: String) throws {
        try withTemporaryDirectory { directory in
            let file = directory.appending(path: "token")
            try Data(text.utf8).write(to: file)
            #expect(try TokenSource.file(file.path).read().matches("secret"))
            let credential = TokenSource.credential("token")
            #expect(try credential.read(credentials: directory.path).matches("secret"))
        }
    }

    @Test(
        "what is no token is refused without showing it",
        arguments: [
            ("", "the token is empty"), ("\n", "the token is empty"),
            ("two words", "the token may hold visible ASCII only, without spaces, on one line"),
            ("one\ntwo", "the token may hold visible ASCII only, without spaces, on one line"),
            ("pässword", "the token may hold visible ASCII only, without spaces, on one line"),
            (String(repeating: "x", count: 1_025), "the token is longer than 1024 bytes"),
        ]
    )
    func refuses(text: String, why: String) throws {
        try withTemporaryDirectory { directory in
            let file = directory.appending(path: "token")
            try Data(text.utf8).write(to: file)
            let error = #expect(throws: TokenSource.Failure.self) {
                try TokenSource.file(file.path).read()
            }
            #expect(error?.description == "\(file.path): \(why)")
        }
    }

    @Test("a token that is not there is an error that says where it should be")
    func missing() throws {
        try withTemporaryDirectory { directory in
            func message(_ source: TokenSource, _ credentials: String?) -> String? {
                #expect(throws: TokenSource.Failure.self) {
                    try source.read(credentials: credentials)
                }?.description
            }
            let path = directory.appending(path: "none").path
            #expect(message(.file(path), nil) == "\(path): there is no file \(path)")
            #expect(
                message(.credential("none"), directory.path)
                    == "credential none: there is no file \(path)"
            )
            #expect(
                message(.credential("x"), nil)?.contains("LoadCredential=") == true
            )
            let directoryMessage = message(.file(directory.path), nil)
            #expect(directoryMessage?.hasPrefix("\(directory.path): ") == true)
        }
    }
}

@Suite("Where a server listens")
struct ListenAddressTests {
    @Test(
        "an address is read and printed",
        arguments: [
            ("127.0.0.1:9736", true), ("127.255.0.3:0", true), ("[::1]:65535", true),
            ("0.0.0.0:80", false), ("[::]:80", false), ("10.1.2.3:1", false),
            ("[fe80::1]:1", false),
        ]
    )
    func reads(text: String, isLoopback: Bool) throws {
        let address = try ListenAddress(parsing: text)
        #expect(address.description == text)
        #expect(address.isLoopback == isLoopback)
    }

    @Test(
        "what is none is refused",
        arguments: [
            "", ":80", "80", "127.1:80", "[127.0.0.1]:80", "[::1]", "::1:80", "1.2.3.4:-1",
            "1.2.3.4:+1", "1.2.3.4:", "[]:1", "1.2.3.4:99999", "host:1",
        ]
    )
    func refuses(text: String) {
        #expect(throws: ListenAddress.Invalid.self) { try ListenAddress(parsing: text) }
    }
}
