/*
 * The least that a client of a stream can do: receive, stamp, read the one number of each event. The limit for others.
 *
 *     client PORT STREAMS REQUESTS TOKENS...
 *
 * For each TOKENS it sends REQUESTS requests in a closed loop over STREAMS connections, then prints one JSON object: for
 * each of those runs the processor time it took, and of every request when it was sent and the stamp of each event.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 8192, BATCH = 512, READ = 1 << 16 };

static const char MARK[] = "\"index\":", END[] = "0\r\n\r\n";

struct timing {
    int64_t sent_ns, *stamps_ns, *ids;
    long chunks;
};

struct connection {
    char held[READ];
    size_t length, read;
    long number;
};

static struct connection *connections[MOST];
static struct timing *timings;
static long first, next, requests, tokens, done;

static void die(const char *what) {
    perror(what);
    exit(1);
}

static int64_t clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void send_next(int fd) {
    if (next == requests) return;
    char body[256], request[512];
    int length = sprintf(
        body,
        "{\"model\":\"m\",\"prompt\":\"%ld words of a prompt\",\"max_tokens\":%ld,\"temperature\":0,\"ignore_eos\":true,"
        "\"stream\":true,\"stream_options\":{\"include_usage\":true}}",
        first + next, tokens);
    length = sprintf(request,
                     "POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                     "Content-Length: %d\r\n\r\n%s",
                     length, body);
    struct connection *c = connections[fd];
    c->number = next++;
    c->length = c->read = 0;
    timings[c->number].sent_ns = clock_ns(CLOCK_MONOTONIC);
    if (send(fd, request, length, MSG_NOSIGNAL) != length) die("send");
}

/* Stamp and read the events that have come; keep what is cut off for the next time. */
static void hear(int fd) {
    struct connection *c = connections[fd];
    ssize_t got = recv(fd, c->held + c->length, READ - 1 - c->length, 0);
    if (got <= 0) die("recv");
    int64_t stamp = clock_ns(CLOCK_MONOTONIC);
    struct timing *t = &timings[c->number];
    char *at;
    c->length += got;
    c->held[c->length] = 0;
    while ((at = memmem(c->held + c->read, c->length - c->read, MARK, sizeof MARK - 1)) && strchr(at, '}')) {
        t->ids[t->chunks] = strtoll(at + sizeof MARK - 1, &at, 10);
        t->stamps_ns[t->chunks++] = stamp;
        c->read = at - c->held;
    }
    if (c->length - c->read >= 5 && !memcmp(c->held + c->length - 5, END, 5)) {
        done++;
        send_next(fd);
    } else if (c->read) {
        c->length -= c->read;
        memmove(c->held, c->held + c->read, c->length);
        c->read = 0;
    }
}

static int connected(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (fd < 0 || fd >= MOST || connect(fd, (struct sockaddr *)&address, sizeof address)) die("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connections[fd] = calloc(1, sizeof *connections[fd]);
    return fd;
}

static void tell(int64_t cpu_ns) {
    printf("{\"cpu_s\":%.9f,\"requests\":[", cpu_ns / 1e9);
    for (long place = 0; place < requests; place++) {
        struct timing *t = &timings[place];
        printf("%s{\"number\":%ld,\"sent_ns\":%lld,\"stamps_ns\":[", place ? "," : "", first + place,
               (long long)t->sent_ns);
        for (long chunk = 0; chunk < t->chunks; chunk++)
            printf("%s%lld", chunk ? "," : "", (long long)t->stamps_ns[chunk]);
        printf("]}");
        free(t->stamps_ns);
        free(t->ids);
    }
    printf("]}");
}

static void run(int poll, const int *fds, long streams) {
    struct epoll_event events[BATCH];
    timings = calloc(requests, sizeof *timings);
    for (long place = 0; place < requests; place++) {
        timings[place].stamps_ns = calloc(tokens, sizeof(int64_t));
        timings[place].ids = calloc(tokens, sizeof(int64_t));
    }
    next = done = 0;
    int64_t begun_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (long stream = 0; stream < streams; stream++) send_next(fds[stream]);
    while (done < requests) {
        int ready = epoll_wait(poll, events, BATCH, -1);
        for (int place = 0; place < ready; place++) hear(events[place].data.fd);
    }
    tell(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begun_ns);
    free(timings);
    first += requests;
}

int main(int count, char **words) {
    if (count < 5) {
        fputs("usage: client PORT STREAMS REQUESTS TOKENS...\n", stderr);
        return 2;
    }
    long streams = atol(words[2]);
    requests = atol(words[3]);
    int fds[MOST], poll = epoll_create1(0);
    for (long stream = 0; stream < streams; stream++) {
        fds[stream] = connected(atoi(words[1]));
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fds[stream]};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, fds[stream], &event)) die("epoll_ctl");
    }
    printf("[");
    for (int place = 4; place < count; place++) {
        if (place > 4) printf(",");
        tokens = atol(words[place]);
        run(poll, fds, streams);
    }
    puts("]");
    return 0;
}
