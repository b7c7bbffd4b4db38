/// How a client speaks to servers.
public struct HTTPClientOptions: Hashable, Sendable {
    /// Where a request goes.
    public enum Proxy: Hashable, Sendable {
        /// `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, as curl reads them.
        case environment
        case none
    }

    public var deadlines: Deadlines
    /// Authorities to trust instead of the system's: a file in PEM.
    public var authorities: String?
    /// A certificate of our own, in PEM, and its key.
    public var certificate: String?
    public var key: String?
    public var proxy: Proxy

    public init(
        deadlines: Deadlines = Deadlines(),
        authorities: String? = nil,
        certificate: String? = nil,
        key: String? = nil,
        proxy: Proxy = .environment
    ) {
        self.deadlines = deadlines
        self.authorities = authorities
        self.certificate = certificate
        self.key = key
        self.proxy = proxy
    }
}
