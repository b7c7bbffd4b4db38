import Bucket
import Testing

@Suite("bucket addresses")
struct BucketAddressTests {
    @Test(
        "every form is read and printed",
        arguments: [
            ("/srv/bucket", "/srv/bucket"),
            ("/srv/bucket//", "/srv/bucket"),
            ("/", "/"),
            ("relative/path/", "relative/path"),
            ("a:b", "a:b"),
            ("./file:x", "./file:x"),
            ("file:///srv/my%20bucket/", "/srv/my bucket"),
            ("FILE:///srv", "/srv"),
            ("file://localhost/srv", "/srv"),
            ("http://sink:8080/db/strap_1", "http://sink:8080/db/strap_1"),
            ("https://sink/db/strap-1", "https://sink/db/strap-1"),
            ("http://[::1]:8080/db/x", "http://[::1]:8080/db/x"),
            ("http://[fe80::1]/db/x", "http://[fe80::1]/db/x"),
            ("s3://b", "s3://b"),
            ("s3://b/", "s3://b"),
            ("s3://b/a/c/", "s3://b/a/c"),
            ("s3://b/a?region=eu-1", "s3://b/a?region=eu-1"),
            (
                "s3://b/a?endpoint=http%3A%2F%2Flocalhost:9000&region=x",
                "s3://b/a?endpoint=http://localhost:9000&region=x"
            ),
        ]
    )
    func reads(text: String, printed: String) throws {
        let address = try BucketAddress(parsing: text)
        #expect("\(address)" == printed)
        #expect(try BucketAddress(parsing: printed) == address)
    }

    @Test(
        "what cannot be understood is refused with a reason",
        arguments: [
            ("", "empty"),
            ("file:/srv", "must be followed by //"),
            ("file:srv", "must be followed by //"),
            ("file://srv/x", "three slashes"),
            ("file:///srv?x=1", "no options"),
            ("file:///srv/%zz", "%"),
            ("file:///srv/%00", "%"),
            ("file:///srv/%", "%"),
            ("file:///srv/%ff", "UTF-8"),
            ("file://", "no path"),
            ("/srv\0x", "NUL"),
            ("ftp://host/x", "unknown scheme ftp"),
            ("http:host", "must be followed by //"),
            ("http://", "/db/NAME"),
            ("/srv/bucket\nx", "line break"),
            ("http:///db/x", "no host"),
            ("http://host", "/db/NAME"),
            ("http://host/db/", "/db/NAME"),
            ("http://host/db/x/", "/db/NAME"),
            ("http://host/db/../x", "/db/NAME"),
            ("http://host/db/a%2Fb", "/db/NAME"),
            ("http://host/DB/x", "/db/NAME"),
            ("http://host/db/\(String(repeating: "x", count: 65))", "/db/NAME"),
            ("http://host:0/db/x", "1 to 65535"),
            ("http://host:65536/db/x", "1 to 65535"),
            ("http://host:+80/db/x", "1 to 65535"),
            ("http://host:/db/x", "1 to 65535"),
            ("http://::1/db/x", "[brackets]"),
            ("http://[::1/db/x", "[ without ]"),
            ("http://[::1]x/db/x", "malformed"),
            ("http://host/db/x?token=hunter2", "no options"),
            ("http://host/db/x#hunter2", "fragment"),
            ("http://user:hunter2@host/db/x", "token file"),
            ("https://hunter2@host/db/x", "token file"),
            ("s3://key:hunter2@b/x", "token file"),
            ("s3://", "no bucket name"),
            ("s3://b:9000/x", "endpoint"),
            ("s3://b/x?secret=hunter2", "unknown option secret"),
            ("s3://b/x?region", "no value"),
            ("s3://b/x?region=", "no value"),
            ("s3://b/x?region=a&region=b", "twice"),
            ("s3://b/x?endpoint=http://u:hunter2@h", "must not hold"),
            ("weird://hunter2@host/x", "token file"),
        ]
    )
    func refuses(text: String, reason: String) {
        do {
            let address = try BucketAddress(parsing: text)
            Issue.record("\(text) was read as \(address)")
        } catch {
            #expect("\(error)".contains(reason))
            #expect(!"\(error)".contains("hunter2"))
            #expect(!String(reflecting: error).contains("hunter2"))
            guard case .badAddress = error else {
                Issue.record("not badAddress: \(error)")
                return
            }
        }
    }

    @Test("directories and servers open, object stores are for later versions")
    func opens() throws {
        #expect(try BucketAddress(parsing: "/x").client() is DirectoryBucket)
        #expect(try BucketAddress(parsing: "http://host/db/x").client() is any LiveBucket)
        #expect(try BucketAddress(parsing: "https://[::1]:1/db/x").client() is HTTPBucket)
        let address = try BucketAddress(parsing: "s3://b")
        #expect(throws: BucketError.unsupported(address)) { try address.client() }
    }
}
