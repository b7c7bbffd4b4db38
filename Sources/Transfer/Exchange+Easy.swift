internal import CCurl
import DurableFiles

extension Exchange {
    /// Makes curl's handle for this request.
    ///
    /// - Parameters:
    ///   - functions: The library.
    ///   - options: How this client speaks.
    ///   - loop: Owner of the connections.
    func prepare(
        _ functions: UnsafePointer<dm_curl>,
        options: HTTPClientOptions,
        loop: TransferLoop
    ) {
        guard let easy = dm_easy_init(functions) else {
            return fail(.refused, "no memory for a request")
        }
        self.easy = easy
        dm_set_defaults(functions, easy)
        dm_set_string(functions, easy, CURLOPT_URL, request.url)
        dm_set_pointer(functions, easy, CURLOPT_ERRORBUFFER, errorText)
        dm_set_long(
            functions,
            easy,
            CURLOPT_CONNECTTIMEOUT_MS,
            Int(max(1, deadlines.connect.milliseconds))
        )
        if let whole = deadlines.whole {
            dm_set_long(functions, easy, CURLOPT_TIMEOUT_MS, Int(max(1, whole.milliseconds)))
        }
        setTrust(functions, easy, options)
        if options.proxy == .none { dm_set_string(functions, easy, CURLOPT_PROXY, "") }
        // Wait for a connection that may carry many requests at once, rather than open another.
        if request.url.hasPrefix("https:") { dm_set_long(functions, easy, CURLOPT_PIPEWAIT, 1) }
        setMethod(functions, easy)
        setHeaders(functions, easy)
        setFunctions(functions, easy, loop)
    }

    /// Frees what curl held; the handle is in no multi handle any more.
    func release(_ functions: UnsafePointer<dm_curl>) {
        if let easy { dm_easy_cleanup(functions, easy) }
        if let headerLines { dm_slist_free(functions, headerLines) }
        easy = nil
        headerLines = nil
    }

    private func setTrust(
        _ functions: UnsafePointer<dm_curl>,
        _ easy: UnsafeMutableRawPointer,
        _ options: HTTPClientOptions
    ) {
        if let authorities = options.authorities {
            dm_set_string(functions, easy, CURLOPT_CAINFO, authorities)
            // Else the system's directory would be trusted as well.
            dm_set_string(functions, easy, CURLOPT_CAPATH, nil)
        }
        if let certificate = options.certificate {
            dm_set_string(functions, easy, CURLOPT_SSLCERT, certificate)
            dm_set_string(functions, easy, CURLOPT_SSLKEY, options.key ?? certificate)
        }
    }

    private func setMethod(_ functions: UnsafePointer<dm_curl>, _ easy: UnsafeMutableRawPointer) {
        switch request.method {
        case .get: dm_set_long(functions, easy, CURLOPT_HTTPGET, 1)
        case .head: dm_set_long(functions, easy, CURLOPT_NOBODY, 1)
        case .delete: dm_set_string(functions, easy, CURLOPT_CUSTOMREQUEST, "DELETE")
        case .put, .post, .patch:
            setBufferSize(functions, easy)
            dm_set_long(functions, easy, CURLOPT_UPLOAD, 1)
            dm_set_string(functions, easy, CURLOPT_CUSTOMREQUEST, request.method.rawValue)
            dm_set_offset(
                functions,
                easy,
                CURLOPT_INFILESIZE_LARGE,
                curl_off_t(request.body.length ?? -1)
            )
        }
    }

    /// Lets a large body go in larger pieces than curl's 64 KiB.
    private func setBufferSize(
        _ functions: UnsafePointer<dm_curl>,
        _ easy: UnsafeMutableRawPointer
    ) {
        guard request.body.length ?? .max > 1 << 20 else { return }
        dm_set_long(functions, easy, CURLOPT_UPLOAD_BUFFERSIZE, 256 << 10)
    }

    private func setHeaders(_ functions: UnsafePointer<dm_curl>, _ easy: UnsafeMutableRawPointer) {
        guard request.headers.isWellFormed else {
            return fail(.refused, "a header of the request holds bytes that no header may")
        }
        var lines = request.headers.lines
        // Without it a refusal costs a second of waiting, or a server that never says 100 does.
        lines.append("Expect:")
        for line in lines {
            guard let list = dm_slist_append(functions, headerLines, line) else {
                return fail(.refused, "no memory for a request")
            }
            headerLines = list
        }
        dm_set_pointer(functions, easy, CURLOPT_HTTPHEADER, headerLines)
    }

    private func setFunctions(
        _ functions: UnsafePointer<dm_curl>,
        _ easy: UnsafeMutableRawPointer,
        _ loop: TransferLoop
    ) {
        // Both are alive for as long as curl may call: the loop keeps the exchange until its
        // handle is removed, and removes the multi handle before it goes itself.
        dm_set_request_functions(
            functions,
            easy,
            Unmanaged.passUnretained(self).toOpaque(),
            { bytes, size, count, context in
                let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
                return Exchange.from(context)?.receive(headLine: line) == true ? line.count : 0
            },
            { bytes, size, count, context in
                let body = UnsafeRawBufferPointer(start: bytes, count: size * count)
                return switch Exchange.from(context)?.receive(body: body) {
                case .taken: body.count
                case .paused: Int(CURL_WRITEFUNC_PAUSE)
                // Any other count than that of the bytes ends the transfer.
                case .stopped, nil: body.count == 0 ? 1 : 0
                }
            },
            { bytes, size, count, context in
                let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
                return Exchange.from(context)?.send(into: buffer) ?? Int(CURL_READFUNC_ABORT)
            },
            { context, offset, origin in
                guard origin == 0, Exchange.from(context)?.seek(to: Int64(offset)) == true else {
                    return CURL_SEEKFUNC_CANTSEEK
                }
                return CURL_SEEKFUNC_OK
            },
            { context, _, _, _, localPort in
                guard let exchange = Exchange.from(context) else { return CURL_PREREQFUNC_ABORT }
                exchange.becomeReady(socket: exchange.loop?.socket(localPort: localPort) ?? -1)
                return CURL_PREREQFUNC_OK
            }
        )
        self.loop = loop
        dm_set_socket_functions(
            functions,
            easy,
            Unmanaged.passUnretained(loop).toOpaque(),
            { context, _, address in
                guard let address else { return -1 }
                let socket = dm_open_socket(address)
                TransferLoop.from(context)?.opened(socket)
                return socket
            },
            { context, socket in
                TransferLoop.from(context)?.close(socket)
                return 0
            }
        )
    }

    fileprivate static func from(_ context: UnsafeMutableRawPointer?) -> Exchange? {
        context.map { Unmanaged<Exchange>.fromOpaque($0).takeUnretainedValue() }
    }
}

extension TransferLoop {
    fileprivate static func from(_ context: UnsafeMutableRawPointer?) -> TransferLoop? {
        context.map { Unmanaged<TransferLoop>.fromOpaque($0).takeUnretainedValue() }
    }
}
