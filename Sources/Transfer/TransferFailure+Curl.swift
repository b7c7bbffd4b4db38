internal import CCurl

extension TransferFailure.Kind {
    /// What a result of curl means for who waits for the request.
    ///
    /// - Parameters:
    ///   - code: Not `CURLE_OK`.
    ///   - text: What curl says; some codes mean several things.
    package init(curl code: UInt32, text: String) {
        let says = { (words: String) in text.contains(words) }
        self =
            switch CURLcode(rawValue: code) {
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .resolve
            case CURLE_COULDNT_CONNECT, CURLE_PROXY, CURLE_INTERFACE_FAILED: .connect
            case CURLE_OPERATION_TIMEDOUT: .timeout
            case CURLE_PARTIAL_FILE: .shortBody
            // A proxy that does not let us through.
            case CURLE_RECV_ERROR where says("CONNECT") && says("407"): .unauthorized
            case CURLE_RECV_ERROR where says("CONNECT"): .connect
            // TLS 1.3 refuses a client's certificate after the handshake.
            case CURLE_RECV_ERROR where says("alert"): .tls
            case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2,
                CURLE_HTTP2_STREAM, CURLE_SEND_FAIL_REWIND, CURLE_AGAIN,
                CURLE_SSL_SHUTDOWN_FAILED:
                .reset
            // The line broke in the handshake.
            case CURLE_SSL_CONNECT_ERROR
            where says("SYSCALL") || says("reset by peer") || says("unexpected eof"):
                .reset
            case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM,
                CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE,
                CURLE_SSL_ISSUER_ERROR, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED,
                CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
                CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED:
                .tls
            // What answers does not speak HTTP.
            case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY: .notASink
            case CURLE_ABORTED_BY_CALLBACK: .cancelled
            default: .refused
            }
    }
}
