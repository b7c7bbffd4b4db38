import Wire

/// Which methods a route takes, and what each may do.
struct RouteRules {
    /// Methods in the order of an `allow` header.
    let methods: [String]
    /// The methods of these that take a body.
    let bodies: Set<String>

    private init(_ methods: [String], bodies: Set<String> = []) {
        self.methods = methods
        self.bodies = bodies
    }

    init(_ route: Route) {
        switch route {
        case .health, .metrics: self.init(["GET"])
        case .database(_, let route): self.init(route)
        }
    }

    init(_ route: DatabaseRoute) {
        switch route {
        case .root, .level, .stream, .ledger, .freshness: self.init(["GET"])
        case .file:
            self.init(["GET", "PUT", "POST", "DELETE", "OPTIONS"], bodies: ["PUT", "POST"])
        case .all: self.init(["DELETE"])
        case .ingest: self.init(["POST", "PUT", "OPTIONS"], bodies: ["POST", "PUT"])
        case .upload: self.init(["HEAD", "PATCH", "DELETE"], bodies: ["PATCH"])
        }
    }

    /// What a method needs to be allowed.
    static func access(_ method: String) -> Access {
        ["GET", "HEAD", "OPTIONS"].contains(method) ? .read : .write
    }
}
