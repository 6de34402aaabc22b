/*
 * A calibrated server: every stream gets its next event at the same instant, as from an engine's step, and the server
 * knows when it sent each one.
 *
 *     server PORT STEP_US TOKENS_A_CHUNK        prints "port N" once it listens on 127.0.0.1
 *
 * POST /v1/completions streams `max_tokens` tokens as server-sent events of vLLM's form in chunked encoding, one send()
 * each, and the usage at the end. GET /seen tells the most requests that were being answered at once, and of every
 * request that was answered since it was last asked: the number its prompt begins with, when it had arrived, when each
 * event was sent. Any other GET lists the one model.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const char HEAD[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

enum { MOST = 8192, BATCH = 512, READ = 1 << 16, EVENT = 1 << 13, MOST_TOKENS = 256 };

struct request {
    long number, prompt_tokens, tokens, sent;
    int64_t received_ns, *sent_ns;
    size_t chunks;
};

struct connection {
    char *in;
    size_t held, room;
    bool streaming;
    struct request request;
};

static struct connection connections[MOST];
static int streams[MOST];
static int streaming, peak;
static long tokens_a_chunk;
static int64_t ready_ns; /* when the sockets that are being heard had something to say */
static struct request *answered;
static size_t answers, answers_room;

static void die(const char *what) {
    perror(what);
    exit(1);
}

static void *grown(void *old, size_t bytes) {
    void *new = realloc(old, bytes);
    if (!new) die("realloc");
    return new;
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Send all of it, waiting where the socket is full: only a client that has fallen behind by a buffer makes us wait. */
static bool put(int fd, const char *data, size_t left) {
    while (left) {
        ssize_t sent = send(fd, data, left, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) return false;
        if (sent > 0) data += sent, left -= sent;
    }
    return true;
}

static size_t chunk(char *out, const char *format, ...) {
    char body[EVENT - 32];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(body, sizeof body, format, values);
    va_end(values);
    return sprintf(out, "%x\r\n%s\r\n", length, body);
}

static void keep(struct request *request) {
    if (answers == answers_room) {
        answers_room = answers_room ? 2 * answers_room : 1024;
        answered = grown(answered, answers_room * sizeof *answered);
    }
    answered[answers++] = *request;
    *request = (struct request){0};
}

static void drop(int fd) {
    struct connection *c = &connections[fd];
    for (int place = 0; c->streaming && place < streaming; place++)
        if (streams[place] == fd) streams[place--] = streams[--streaming], c->streaming = false;
    free(c->in);
    free(c->request.sent_ns);
    *c = (struct connection){0};
    close(fd);
}

/* Send a stream its next event; return false when it was the last, or the client is gone. */
static bool step(int fd) {
    struct connection *c = &connections[fd];
    struct request *r = &c->request;
    char event[EVENT + sizeof HEAD], text[EVENT / 2];
    long now = r->tokens - r->sent < tokens_a_chunk ? r->tokens - r->sent : tokens_a_chunk;
    size_t words = 0;
    for (long token = r->sent; token < r->sent + now; token++)
        words += sprintf(text + words, " %.*s", (int)(1 + (r->number + token) % 12), "token to read");
    bool last = r->sent + now == r->tokens;
    int64_t at = now_ns();
    size_t head = r->sent ? 0 : strlen(strcpy(event, HEAD));
    size_t length = head + chunk(
        event + head,
        "data: {\"id\":\"cmpl-%ld\",\"object\":\"text_completion\",\"created\":1796033120,\"model\":\"m\",\"choices\":["
        "{\"index\":0,\"text\":\"%s\",\"logprobs\":null,\"finish_reason\":%s,\"stop_reason\":null,"
        "\"prompt_token_ids\":null,\"token_ids\":null}]}\n\n",
        r->number, text, last ? "\"length\"" : "null");
    r->sent_ns[r->chunks++] = at;
    r->sent += now;
    bool there = put(fd, event, length);
    if (there && last) {
        length = chunk(
            event,
            "data: {\"id\":\"cmpl-%ld\",\"object\":\"text_completion\",\"model\":\"m\",\"choices\":[],\"usage\":"
            "{\"prompt_tokens\":%ld,\"completion_tokens\":%ld,\"total_tokens\":%ld}}\n\ndata: [DONE]\n\n",
            r->number, r->prompt_tokens, r->tokens, r->prompt_tokens + r->tokens);
        strcpy(event + length, "0\r\n\r\n");
        there = put(fd, event, length + 5);
        c->streaming = false;
        keep(r);
    }
    return there && !last;
}

static void step_all(void) {
    int left = 0;
    for (int place = 0; place < streaming; place++)
        if (step(streams[place])) streams[left++] = streams[place];
    streaming = left;
}

/* Take a request; its stream begins with the next step. */
static void begin(int fd, const char *body) {
    struct connection *c = &connections[fd];
    struct request *r = &c->request;
    const char *tokens = strstr(body, "\"max_tokens\""), *prompt = strstr(body, "\"prompt\"");
    *r = (struct request){.number = -1, .tokens = tokens ? atol(tokens + strcspn(tokens, "0123456789")) : 16};
    r->received_ns = ready_ns;
    r->sent_ns = grown(NULL, r->tokens * sizeof *r->sent_ns);
    if (prompt) {
        prompt += 8 + strspn(prompt + 8, ": [\"");
        if (isdigit((unsigned char)*prompt)) r->number = atol(prompt);
        for (r->prompt_tokens = 1; *prompt && *prompt != '"' && *prompt != ']'; prompt++)
            r->prompt_tokens += *prompt == ' ' || (*prompt == ',' && prompt[1] != ' ');
    }
    c->streaming = true;
    streams[streaming++] = fd;
    if (streaming > peak) peak = streaming;
}

static void plain(int fd, const char *body, size_t length) {
    char head[128];
    int size = sprintf(head, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n", length);
    if (put(fd, head, size)) put(fd, body, length);
}

static void tell(int fd) {
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    fprintf(out, "{\"peak\":%d,\"requests\":[", peak);
    for (size_t place = 0; place < answers; place++) {
        struct request *r = &answered[place];
        fprintf(out, "%s{\"number\":%ld,\"received_ns\":%lld,\"sent_ns\":[", place ? "," : "", r->number,
                (long long)r->received_ns);
        for (size_t sent = 0; sent < r->chunks; sent++)
            fprintf(out, "%s%lld", sent ? "," : "", (long long)r->sent_ns[sent]);
        fputs("]}", out);
        free(r->sent_ns);
    }
    fputs("]}", out);
    fclose(out);
    answers = 0, peak = streaming;
    plain(fd, text, length);
    free(text);
}

/* Answer every whole request that a connection holds. */
static void serve(int fd) {
    static const char models[] = "{\"object\":\"list\",\"data\":[{\"id\":\"m\",\"object\":\"model\"}]}";
    struct connection *c = &connections[fd];
    char *end;
    while (c->held && (end = strstr(c->in, "\r\n\r\n"))) {
        const char *header = strcasestr(c->in, "\r\ncontent-length:");
        size_t head = end + 4 - c->in, body = header && header < end ? strtoul(header + 17, NULL, 10) : 0;
        if (c->held < head + body) return;
        char after = c->in[head + body];
        c->in[head + body] = 0;
        if (!strncmp(c->in, "POST", 4)) begin(fd, c->in + head);
        else if (!strncmp(c->in, "GET /seen", 9)) tell(fd);
        else plain(fd, models, sizeof models - 1);
        c->in[head + body] = after;
        c->held -= head + body;
        memmove(c->in, c->in + head + body, c->held + 1);
    }
}

static void hear(int fd) {
    struct connection *c = &connections[fd];
    if (c->room < c->held + READ + 1) c->in = grown(c->in, c->room = 2 * c->held + READ + 1);
    ssize_t got = recv(fd, c->in + c->held, READ, MSG_DONTWAIT);
    if (got <= 0) {
        if (got == 0 || errno != EAGAIN) drop(fd);
        return;
    }
    c->held += got;
    c->in[c->held] = 0;
    serve(fd);
}

static int listening(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, size) || listen(fd, MOST)) die("listen");
    getsockname(fd, (struct sockaddr *)&address, &size);
    printf("port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

static int ticking(long step_us) {
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    struct timespec step = {step_us / 1000000, step_us % 1000000 * 1000};
    struct itimerspec every = {step, step};
    if (timerfd_settime(fd, 0, &every, NULL)) die("timerfd");
    return fd;
}

static void watch(int poll, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event)) die("epoll_ctl");
}

static void meet(int poll, int door) {
    int fd = accept(door, NULL, NULL), on = 1;
    if (fd < 0) return;
    if (fd >= MOST) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    watch(poll, fd);
}

int main(int count, char **words) {
    if (count != 4 || atol(words[3]) > MOST_TOKENS) {
        fputs("usage: server PORT STEP_US TOKENS_A_CHUNK, at most 256 tokens\n", stderr);
        return 2;
    }
    tokens_a_chunk = atol(words[3]);
    int door = listening(atoi(words[1])), tick = ticking(atol(words[2])), poll = epoll_create1(0);
    watch(poll, door);
    watch(poll, tick);
    struct epoll_event events[BATCH];
    for (;;) {
        int ready = epoll_wait(poll, events, BATCH, -1);
        ready_ns = now_ns();
        for (int place = 0; place < ready; place++) {
            int fd = events[place].data.fd;
            uint64_t ticks;
            if (fd == door) meet(poll, door);
            else if (fd != tick) hear(fd);
            else if (read(tick, &ticks, sizeof ticks) > 0) step_all();
        }
    }
}
