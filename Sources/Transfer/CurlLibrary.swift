internal import CCurl

/// The functions of libcurl, loaded when the first request is made.
///
/// A process that never speaks to a server never pays for the library's start.
// @unchecked because the table is filled before anybody has it, and never changes.
final class CurlLibrary: @unchecked Sendable {
    static let shared: Result<CurlLibrary, LoadFailure> = {
        do throws(LoadFailure) {
            return .success(try CurlLibrary())
        } catch {
            return .failure(error)
        }
    }()

    /// The library is not there, or is not what it should be.
    struct LoadFailure: Error, CustomStringConvertible {
        var reason: String

        var description: String {
            "libcurl cannot be loaded (\(reason)): install the package libcurl4"
        }
    }

    let functions: UnsafePointer<dm_curl>

    private init() throws(LoadFailure) {
        let table = UnsafeMutablePointer<dm_curl>.allocate(capacity: 1)
        table.initialize(to: dm_curl())
        if let reason = dm_curl_load(table) {
            table.deallocate()
            throw LoadFailure(reason: String(cString: reason))
        }
        // Never unloaded: threads of its resolver may outlive every client.
        functions = UnsafePointer(table)
        guard dm_global_init(functions) == CURLE_OK else {
            throw LoadFailure(reason: "curl_global_init failed")
        }
    }

    /// What curl calls a result.
    func text(of code: CURLcode) -> String {
        dm_easy_strerror(functions, code).map { String(cString: $0) }
            ?? "curl error \(code.rawValue)"
    }
}
