import CMicroHTTPD

/// The functions the library calls, on its own threads.
///
/// Each request's `HTTPExchange` is retained from its first line to its end.
enum HTTPCallbacks {
    private static func core(_ context: UnsafeMutableRawPointer) -> HTTPServerCore {
        Unmanaged<HTTPServerCore>.fromOpaque(context).takeUnretainedValue()
    }

    static let requestLine:
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?
        ) -> UnsafeMutableRawPointer? = { _, target, connection in
            guard let connection else { return nil }
            let exchange = HTTPExchange(
                target: target.map { String(cString: $0) } ?? "",
                connection: ConnectionHandle(raw: connection)
            )
            return Unmanaged.passRetained(exchange).toOpaque()
        }

    static let access: MHD_AccessHandlerCallback = {
        context,
        _,
        _,
        method,
        _,
        bytes,
        count,
        exchange in
        guard let context, let method, let count, let raw = exchange?.pointee else {
            return dormouse_mhd_no
        }
        let core = core(context)
        let exchange = Unmanaged<HTTPExchange>.fromOpaque(raw).takeUnretainedValue()
        let goesOn: Bool
        if count.pointee > 0, let bytes {
            let size = count.pointee
            count.pointee = 0
            goesOn = core.received(exchange, UnsafeRawBufferPointer(start: bytes, count: size))
        } else {
            goesOn = core.called(exchange, method: String(cString: method))
        }
        return goesOn ? dormouse_mhd_yes : dormouse_mhd_no
    }

    static let completed: MHD_RequestCompletedCallback = { context, _, exchange, code in
        guard let context, let exchange, let raw = exchange.pointee else { return }
        exchange.pointee = nil
        core(context).completed(
            Unmanaged<HTTPExchange>.fromOpaque(raw).takeRetainedValue(),
            byClient: dormouse_mhd_is_cut(code) != 0
        )
    }

    static let connection: MHD_NotifyConnectionCallback = { context, connection, _, code in
        guard let context, let connection else { return }
        let core = core(context)
        let handle = ConnectionHandle(raw: connection)
        if dormouse_mhd_is_started(code) != 0 {
            core.connections.opened(handle, socket: core.mhd.socket(connection))
        } else {
            core.connections.closed(handle)
        }
    }
}
