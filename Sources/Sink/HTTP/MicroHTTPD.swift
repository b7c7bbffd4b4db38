import CMicroHTTPD

/// The functions of libmicrohttpd, loaded at first use.
// @unchecked because the table is filled before the first copy leaves, and only read after that.
struct MicroHTTPD: @unchecked Sendable {
    let functions: UnsafePointer<dormouse_mhd>

    /// The library, or why there is none.
    static let loaded: Result<MicroHTTPD, SinkError> = {
        let table = UnsafeMutablePointer<dormouse_mhd>.allocate(capacity: 1)
        table.initialize(to: dormouse_mhd())
        if let message = dormouse_mhd_load(table) {
            return .failure(
                SinkError(
                    "cannot load libmicrohttpd.so.12: \(String(cString: message)); "
                        + "install the Debian package libmicrohttpd12"
                )
            )
        }
        return .success(MicroHTTPD(functions: UnsafePointer(table)))
    }()

    func suspend(_ connection: OpaquePointer) {
        dormouse_mhd_suspend(functions, connection)
    }

    func resume(_ connection: OpaquePointer) {
        dormouse_mhd_resume(functions, connection)
    }

    func socket(_ connection: OpaquePointer) -> Int32 {
        dormouse_mhd_socket(functions, connection)
    }

    /// Reads the request's headers.
    func headers(_ connection: OpaquePointer, _ body: (String, String) -> Void) {
        withoutActuallyEscaping(body) { body in
            var body = body
            withUnsafeMutablePointer(to: &body) { pointer in
                dormouse_mhd_headers(
                    functions,
                    connection,
                    { context, _, name, value in
                        guard let context, let name else { return dormouse_mhd_yes }
                        let body = context.assumingMemoryBound(to: ((String, String) -> Void).self)
                        body.pointee(String(cString: name), value.map { String(cString: $0) } ?? "")
                        return dormouse_mhd_yes
                    },
                    pointer
                )
            }
        }
    }

    /// Sends a response made of bytes or of what a reader gives; `false` when it cannot be sent.
    func answer(
        _ connection: OpaquePointer,
        status: Int,
        headers: [(name: String, value: String)],
        _ response: OpaquePointer?
    ) -> Bool {
        guard let response else { return false }
        for header in headers
        where dormouse_mhd_add_header(functions, response, header.name, header.value) == 0 {
            dormouse_mhd_discard(functions, response)
            return false
        }
        return dormouse_mhd_answer(functions, connection, UInt32(status), response) != 0
    }

    func response(_ bytes: [UInt8]) -> OpaquePointer? {
        bytes.withUnsafeBytes { dormouse_mhd_bytes(functions, $0.baseAddress, $0.count) }
    }
}
