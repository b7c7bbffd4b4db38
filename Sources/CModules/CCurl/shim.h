#include <curl/curl.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* libcurl brings TLS, Kerberos and LDAP with it: linking it costs every process that never speaks
 * to a server 7 ms of its start. So nothing links it; who needs it loads it, once, into this. */
typedef struct dm_curl {
    CURLcode (*global_init)(long);
    const char *(*easy_strerror)(CURLcode);
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *);
    CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
    CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
    CURLcode (*easy_pause)(CURL *, int);
    CURLM *(*multi_init)(void);
    CURLMcode (*multi_cleanup)(CURLM *);
    CURLMcode (*multi_setopt)(CURLM *, CURLMoption, ...);
    CURLMcode (*multi_add_handle)(CURLM *, CURL *);
    CURLMcode (*multi_remove_handle)(CURLM *, CURL *);
    CURLMcode (*multi_perform)(CURLM *, int *);
    CURLMcode (*multi_poll)(CURLM *, struct curl_waitfd *, unsigned int, int, int *);
    CURLMcode (*multi_wakeup)(CURLM *);
    CURLMsg *(*multi_info_read)(CURLM *, int *);
    struct curl_slist *(*slist_append)(struct curl_slist *, const char *);
    void (*slist_free_all)(struct curl_slist *);
} dm_curl;

/* Loads the library. Returns NULL, or what the dynamic linker says. */
static inline const char *dm_curl_load(dm_curl *curl) {
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return dlerror();
    const struct {
        const char *name;
        void *place;
    } functions[] = {
        {"curl_global_init", &curl->global_init},
        {"curl_easy_strerror", &curl->easy_strerror},
        {"curl_easy_init", &curl->easy_init},
        {"curl_easy_cleanup", &curl->easy_cleanup},
        {"curl_easy_setopt", &curl->easy_setopt},
        {"curl_easy_getinfo", &curl->easy_getinfo},
        {"curl_easy_pause", &curl->easy_pause},
        {"curl_multi_init", &curl->multi_init},
        {"curl_multi_cleanup", &curl->multi_cleanup},
        {"curl_multi_setopt", &curl->multi_setopt},
        {"curl_multi_add_handle", &curl->multi_add_handle},
        {"curl_multi_remove_handle", &curl->multi_remove_handle},
        {"curl_multi_perform", &curl->multi_perform},
        {"curl_multi_poll", &curl->multi_poll},
        {"curl_multi_wakeup", &curl->multi_wakeup},
        {"curl_multi_info_read", &curl->multi_info_read},
        {"curl_slist_append", &curl->slist_append},
        {"curl_slist_free_all", &curl->slist_free_all},
    };
    for (size_t index = 0; index < sizeof functions / sizeof functions[0]; index++) {
        void *function = dlsym(library, functions[index].name);
        if (function == NULL) return dlerror();
        *(void **)functions[index].place = function;
    }
    return NULL;
}

/* Swift has no variadic C calls, and no spelling for a call through a pointer that may be null: one
 * wrapper for each. */

static inline const char *dm_easy_strerror(const dm_curl *curl, CURLcode code) {
    return curl->easy_strerror(code);
}
static inline CURLcode dm_global_init(const dm_curl *curl) {
    return curl->global_init(CURL_GLOBAL_DEFAULT);
}
static inline CURL *dm_easy_init(const dm_curl *curl) { return curl->easy_init(); }
static inline void dm_easy_cleanup(const dm_curl *curl, CURL *easy) { curl->easy_cleanup(easy); }
static inline CURLcode dm_easy_unpause(const dm_curl *curl, CURL *easy) {
    return curl->easy_pause(easy, CURLPAUSE_CONT);
}
static inline CURLM *dm_multi_init(const dm_curl *curl) {
    CURLM *multi = curl->multi_init();
    /* Idle connections that are kept for the next request. */
    if (multi != NULL) curl->multi_setopt(multi, CURLMOPT_MAXCONNECTS, 8L);
    return multi;
}
static inline void dm_multi_cleanup(const dm_curl *curl, CURLM *multi) {
    curl->multi_cleanup(multi);
}
static inline CURLMcode dm_multi_add(const dm_curl *curl, CURLM *multi, CURL *easy) {
    return curl->multi_add_handle(multi, easy);
}
static inline void dm_multi_remove(const dm_curl *curl, CURLM *multi, CURL *easy) {
    curl->multi_remove_handle(multi, easy);
}
static inline void dm_multi_perform(const dm_curl *curl, CURLM *multi) {
    int running = 0;
    curl->multi_perform(multi, &running);
}
static inline void dm_multi_poll(const dm_curl *curl, CURLM *multi, int milliseconds) {
    int count = 0;
    curl->multi_poll(multi, NULL, 0, milliseconds, &count);
}
static inline void dm_multi_wakeup(const dm_curl *curl, CURLM *multi) {
    curl->multi_wakeup(multi);
}

/* The next request that has ended, and how; NULL when there is none. */
static inline CURL *dm_multi_next_done(const dm_curl *curl, CURLM *multi, CURLcode *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl->multi_info_read(multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}

static inline struct curl_slist *dm_slist_append(
    const dm_curl *curl, struct curl_slist *list, const char *line
) {
    return curl->slist_append(list, line);
}
static inline void dm_slist_free(const dm_curl *curl, struct curl_slist *list) {
    curl->slist_free_all(list);
}

static inline CURLcode dm_set_long(const dm_curl *curl, CURL *easy, CURLoption option, long value) {
    return curl->easy_setopt(easy, option, value);
}

static inline CURLcode dm_set_offset(
    const dm_curl *curl, CURL *easy, CURLoption option, curl_off_t value
) {
    return curl->easy_setopt(easy, option, value);
}

/* curl copies strings; NULL takes the default away. */
static inline CURLcode dm_set_string(
    const dm_curl *curl, CURL *easy, CURLoption option, const char *value
) {
    return curl->easy_setopt(easy, option, value);
}

static inline CURLcode dm_set_pointer(
    const dm_curl *curl, CURL *easy, CURLoption option, void *value
) {
    return curl->easy_setopt(easy, option, value);
}

/* What is the same for every request. */
static inline void dm_set_defaults(const dm_curl *curl, CURL *easy) {
    /* No signals, and so no protection from SIGPIPE either: our thread blocks it. */
    curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl->easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl->easy_setopt(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    curl->easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl->easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl->easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    /* A proxy gets neither our headers nor a voice in the answer's. */
    curl->easy_setopt(easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
    curl->easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl->easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl->easy_setopt(easy, CURLOPT_BUFFERSIZE, 128L << 10);
    curl->easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 128L << 10);
    curl->easy_setopt(easy, CURLOPT_USERAGENT, "dormouse");
}

typedef size_t (*dm_transfer_function)(char *, size_t, size_t, void *);
typedef int (*dm_seek_function)(void *, curl_off_t, int);
typedef int (*dm_ready_function)(void *, char *, char *, int, int);

/* The functions that move one request's bytes, all with the same context. */
static inline void dm_set_request_functions(
    const dm_curl *curl, CURL *easy, void *context, dm_transfer_function header,
    dm_transfer_function write, dm_transfer_function read, dm_seek_function seek,
    dm_ready_function ready
) {
    curl->easy_setopt(easy, CURLOPT_PRIVATE, context);
    curl->easy_setopt(easy, CURLOPT_HEADERFUNCTION, header);
    curl->easy_setopt(easy, CURLOPT_HEADERDATA, context);
    curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, write);
    curl->easy_setopt(easy, CURLOPT_WRITEDATA, context);
    curl->easy_setopt(easy, CURLOPT_READFUNCTION, read);
    curl->easy_setopt(easy, CURLOPT_READDATA, context);
    curl->easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek);
    curl->easy_setopt(easy, CURLOPT_SEEKDATA, context);
    curl->easy_setopt(easy, CURLOPT_PREREQFUNCTION, ready);
    curl->easy_setopt(easy, CURLOPT_PREREQDATA, context);
}

typedef curl_socket_t (*dm_open_function)(void *, curlsocktype, struct curl_sockaddr *);
typedef int (*dm_close_function)(void *, curl_socket_t);

/* The functions that open and close connections; these outlive the request that opened them. */
static inline void dm_set_socket_functions(
    const dm_curl *curl, CURL *easy, void *context, dm_open_function open, dm_close_function close
) {
    curl->easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open);
    curl->easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
    curl->easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close);
    curl->easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, context);
}

/* Opens a socket in which little waits unsent: else megabytes of a body would count as moved, and
 * a slow line would look like a peer that has stopped. */
static inline int dm_open_socket(const struct curl_sockaddr *address) {
    int descriptor = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    int unsent = 128 << 10;
    if (descriptor >= 0) {
        setsockopt(descriptor, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
    }
    return descriptor;
}

/* The local port of a connected socket; 0 when it has none. */
static inline int dm_local_port(int descriptor) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &size) != 0) return 0;
    if (address.ss_family == AF_INET) {
        return ntohs(((struct sockaddr_in *)&address)->sin_port);
    }
    if (address.ss_family == AF_INET6) {
        return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    }
    return 0;
}

/* Reads what is there, without waiting. */
static inline ssize_t dm_read_now(int descriptor, void *buffer, size_t size) {
    return recv(descriptor, buffer, size, MSG_DONTWAIT);
}

/* What the calling thread is called; 15 characters. */
static inline void dm_name_thread(const char *name) {
    prctl(PR_SET_NAME, (unsigned long)name, 0, 0, 0);
}

static inline void *dm_context(const dm_curl *curl, CURL *easy) {
    char *context = NULL;
    curl->easy_getinfo(easy, CURLINFO_PRIVATE, &context);
    return context;
}
