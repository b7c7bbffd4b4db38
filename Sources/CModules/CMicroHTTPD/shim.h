#include <dlfcn.h>
#include <microhttpd.h>
#include <stdint.h>
#include <string.h>

// libmicrohttpd is loaded when a server starts, not when the program does: it and the TLS library
// behind it cost a start-up that a push of nothing would pay, too. Its functions are reached
// through this table, and variadic ones through typed wrappers, which Swift cannot call otherwise.

typedef struct {
    struct MHD_Daemon *(*start)(unsigned int, uint16_t, MHD_AcceptPolicyCallback, void *,
                                MHD_AccessHandlerCallback, void *, ...);
    MHD_socket (*quiesce)(struct MHD_Daemon *);
    void (*stop)(struct MHD_Daemon *);
    int (*values)(struct MHD_Connection *, enum MHD_ValueKind, MHD_KeyValueIterator, void *);
    const union MHD_ConnectionInfo *(*info)(struct MHD_Connection *,
                                            enum MHD_ConnectionInfoType, ...);
    const union MHD_DaemonInfo *(*daemon_info)(struct MHD_Daemon *, enum MHD_DaemonInfoType, ...);
    enum MHD_Result (*queue)(struct MHD_Connection *, unsigned int, struct MHD_Response *);
    void (*suspend)(struct MHD_Connection *);
    void (*resume)(struct MHD_Connection *);
    struct MHD_Response *(*from_buffer)(size_t, void *, enum MHD_ResponseMemoryMode);
    struct MHD_Response *(*from_callback)(uint64_t, size_t, MHD_ContentReaderCallback, void *,
                                          MHD_ContentReaderFreeCallback);
    enum MHD_Result (*add_header)(struct MHD_Response *, const char *, const char *);
    void (*destroy)(struct MHD_Response *);
} dormouse_mhd;

typedef struct {
    MHD_socket listen_socket;
    size_t connection_memory;
    unsigned int connection_limit;
    /// Seconds of silence after which a connection is closed.
    unsigned int timeout;
    unsigned int threads;
    /// PEM texts, or both null for a server without TLS.
    const char *certificate;
    const char *key;
    MHD_AccessHandlerCallback access;
    MHD_RequestCompletedCallback completed;
    MHD_NotifyConnectionCallback connection;
    void *(*request_line)(void *, const char *, struct MHD_Connection *);
    void *context;
} dormouse_mhd_settings;

/// Loads the library; returns what is wrong, or null.
static inline const char *dormouse_mhd_load(dormouse_mhd *mhd) {
    void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!library) return dlerror();
    const struct { const char *name; void **place; } functions[] = {
        {"MHD_start_daemon", (void **)&mhd->start},
        {"MHD_quiesce_daemon", (void **)&mhd->quiesce},
        {"MHD_stop_daemon", (void **)&mhd->stop},
        {"MHD_get_connection_values", (void **)&mhd->values},
        {"MHD_get_connection_info", (void **)&mhd->info},
        {"MHD_get_daemon_info", (void **)&mhd->daemon_info},
        {"MHD_queue_response", (void **)&mhd->queue},
        {"MHD_suspend_connection", (void **)&mhd->suspend},
        {"MHD_resume_connection", (void **)&mhd->resume},
        {"MHD_create_response_from_buffer", (void **)&mhd->from_buffer},
        {"MHD_create_response_from_callback", (void **)&mhd->from_callback},
        {"MHD_add_response_header", (void **)&mhd->add_header},
        {"MHD_destroy_response", (void **)&mhd->destroy},
    };
    for (size_t index = 0; index < sizeof functions / sizeof *functions; index++) {
        *functions[index].place = dlsym(library, functions[index].name);
        if (!*functions[index].place) return dlerror();
    }
    return (const char *)0;
}

/// Paths and queries of the protocol are never percent-encoded, so nothing is decoded.
static size_t dormouse_mhd_verbatim(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

static inline struct MHD_Daemon *dormouse_mhd_start(const dormouse_mhd *mhd,
                                                    const dormouse_mhd_settings *settings) {
    unsigned int flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    struct MHD_OptionItem options[14];
    int count = 0;
    options[count++] = (struct MHD_OptionItem){
        MHD_OPTION_LISTEN_SOCKET, settings->listen_socket, NULL};
    options[count++] = (struct MHD_OptionItem){
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)settings->connection_memory, NULL};
    options[count++] = (struct MHD_OptionItem){
        MHD_OPTION_CONNECTION_LIMIT, (intptr_t)settings->connection_limit, NULL};
    options[count++] = (struct MHD_OptionItem){
        MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)settings->timeout, NULL};
    if (settings->threads > 1) {
        options[count++] = (struct MHD_OptionItem){
            MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)settings->threads, NULL};
    }
    options[count++] = (struct MHD_OptionItem){
        MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)dormouse_mhd_verbatim, NULL};
    options[count++] = (struct MHD_OptionItem){
        MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)settings->completed, settings->context};
    options[count++] = (struct MHD_OptionItem){
        MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)settings->connection, settings->context};
    options[count++] = (struct MHD_OptionItem){
        MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)settings->request_line, settings->context};
    if (settings->certificate) {
        flags |= MHD_USE_TLS;
        options[count++] = (struct MHD_OptionItem){
            MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)settings->certificate};
        options[count++] = (struct MHD_OptionItem){
            MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)settings->key};
    }
    options[count++] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    return mhd->start(flags, 0, NULL, NULL, settings->access, settings->context, MHD_OPTION_ARRAY,
                      options, MHD_OPTION_END);
}

static inline MHD_socket dormouse_mhd_quiesce(const dormouse_mhd *mhd, struct MHD_Daemon *daemon) {
    return mhd->quiesce(daemon);
}

static inline void dormouse_mhd_stop(const dormouse_mhd *mhd, struct MHD_Daemon *daemon) {
    mhd->stop(daemon);
}

/// How many clients a daemon has.
static inline unsigned int dormouse_mhd_connections(const dormouse_mhd *mhd,
                                                    struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info =
        mhd->daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info ? info->num_connections : 0;
}

/// The connection's socket, or -1.
static inline int dormouse_mhd_socket(const dormouse_mhd *mhd, struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        mhd->info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

static inline void dormouse_mhd_headers(const dormouse_mhd *mhd, struct MHD_Connection *connection,
                                        MHD_KeyValueIterator body, void *context) {
    mhd->values(connection, MHD_HEADER_KIND, body, context);
}

static inline void dormouse_mhd_suspend(const dormouse_mhd *mhd,
                                        struct MHD_Connection *connection) {
    mhd->suspend(connection);
}

static inline void dormouse_mhd_resume(const dormouse_mhd *mhd, struct MHD_Connection *connection) {
    mhd->resume(connection);
}

/// A response of bytes, which are copied.
static inline struct MHD_Response *dormouse_mhd_bytes(const dormouse_mhd *mhd, const void *bytes,
                                                      size_t count) {
    return mhd->from_buffer(count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}

/// A chunked response.
static inline struct MHD_Response *dormouse_mhd_reader(const dormouse_mhd *mhd,
                                                       MHD_ContentReaderCallback read,
                                                       void *context,
                                                       MHD_ContentReaderFreeCallback release) {
    return mhd->from_callback(MHD_SIZE_UNKNOWN, 64 << 10, read, context, release);
}

/// Whether the header was added.
static inline int dormouse_mhd_add_header(const dormouse_mhd *mhd, struct MHD_Response *response,
                                          const char *name, const char *value) {
    return mhd->add_header(response, name, value) == MHD_YES;
}

/// Whether the response will be sent; gives up the caller's hold on it either way.
static inline int dormouse_mhd_answer(const dormouse_mhd *mhd, struct MHD_Connection *connection,
                                      unsigned int status, struct MHD_Response *response) {
    enum MHD_Result result = mhd->queue(connection, status, response);
    mhd->destroy(response);
    return result == MHD_YES;
}

static inline void dormouse_mhd_discard(const dormouse_mhd *mhd, struct MHD_Response *response) {
    mhd->destroy(response);
}

// Macros and closed enums, as plain constants.
static const enum MHD_Result dormouse_mhd_yes = MHD_YES;
static const enum MHD_Result dormouse_mhd_no = MHD_NO;
static const ssize_t dormouse_mhd_end_of_stream = MHD_CONTENT_READER_END_OF_STREAM;
static const ssize_t dormouse_mhd_end_with_error = MHD_CONTENT_READER_END_WITH_ERROR;

static inline int dormouse_mhd_is_started(enum MHD_ConnectionNotificationCode code) {
    return code == MHD_CONNECTION_NOTIFY_STARTED;
}

/// Whether the client ended its side before its request was whole.
static inline int dormouse_mhd_is_cut(enum MHD_RequestTerminationCode code) {
    return code == MHD_REQUEST_TERMINATED_CLIENT_ABORT || code == MHD_REQUEST_TERMINATED_READ_ERROR;
}

static inline int dormouse_mhd_is_timeout(enum MHD_RequestTerminationCode code) {
    return code == MHD_REQUEST_TERMINATED_TIMEOUT_REACHED;
}
