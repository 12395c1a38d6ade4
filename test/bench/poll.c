/*
 * A crowd that polls: the client of `npm run bench -- poll`.
 *
 *   poll PORT CLIENTS SECONDS RATE TOKENS PATH
 *
 * Opens CLIENTS connections (from many loopback addresses: one has 28,000 ports), asks once for the
 * ETag, then sends conditional requests with the bearer tokens t0..t(TOKENS-1) in turn: RATE a second
 * over all connections in turn, or with RATE 0 the next one as soon as the answer is there. Prints
 * answers per second, those that were no 304, and p50, p99 and the longest in ms from when it was due.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH 1024
#define SAMPLES (1 << 24)
#define PORTS_EACH 20000
#define FIRST_RATE 5000

static void die(const char *what) {
  perror(what);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

static int opened(int port, int client) {
  int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  struct sockaddr_in from = {.sin_family = AF_INET}, to = {.sin_family = AF_INET};
  from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + client / PORTS_EACH);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(port);
  if (fd < 0) die("socket");
  setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
  if (bind(fd, (void *)&from, sizeof from)) die("bind");
  if (connect(fd, (void *)&to, sizeof to)) die("connect");
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return fd;
}

static int request_text(char *out, size_t size, const char *path, int token, const char *etag) {
  return snprintf(out, size,
                  "GET %s HTTP/1.1\r\nHost: relay.example\r\nUser-Agent: poll/1\r\n"
                  "Authorization: Bearer t%d\r\nAccept: */*\r\nAccept-Encoding: gzip\r\n"
                  "%s%s%s\r\n",
                  path, token, etag ? "If-None-Match: " : "", etag ? etag : "", etag ? "\r\n" : "");
}

/* The ETag of a first answer, quotes included. */
static void first_etag(int fd, const char *path, char *etag, size_t size) {
  char buffer[65536];
  int length = request_text(buffer, sizeof buffer, path, 0, NULL);
  if (write(fd, buffer, length) != length) die("write");
  usleep(1000000);
  ssize_t n = 0;
  if ((n = read(fd, buffer, sizeof buffer - 1)) <= 0) die("first answer");
  buffer[n] = 0;
  char *at = strcasestr(buffer, "\netag: ");
  if (!at) {
    fprintf(stderr, "no etag: %.300s\n", buffer);
    exit(1);
  }
  at += 7;
  snprintf(etag, size, "%.*s", (int)strcspn(at, "\r"), at);
}

static int compare(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  if (argc != 7) return 2;
  int port = atoi(argv[1]), clients = atoi(argv[2]), tokens = atoi(argv[5]);
  double seconds = atof(argv[3]), rate = atof(argv[4]);
  const char *path = argv[6];
  char etag[256], request[1024], buffer[1 << 16];
  signal(SIGPIPE, SIG_IGN);
  int first = opened(port, clients);
  first_etag(first, path, etag, sizeof etag);
  close(first);
  int *fds = calloc(clients, sizeof *fds);
  double *due = calloc(clients, sizeof *due);
  float *samples = malloc(SAMPLES * sizeof *samples);
  int ep = epoll_create1(0);
  for (int i = 0; i < clients; i++) {
    fds[i] = opened(port, i);
    fcntl(fds[i], F_SETFL, O_NONBLOCK);
    struct epoll_event e = {.events = EPOLLIN, .data.u32 = i};
    epoll_ctl(ep, EPOLL_CTL_ADD, fds[i], &e);
    /* A full accept queue would cost whole seconds of retransmission. */
    if (i % 200 == 199) usleep(30000);
  }
  printf("connected\n");
  fflush(stdout);
  long answers = 0, others = 0, count = 0, skipped = 0, next = 0;
  /* The first two rounds are slow: connections are new, tokens are reviewed, nothing is remembered. */
  double first_rate = rate < FIRST_RATE ? rate : FIRST_RATE;
  long first_count = 2L * clients;
  double start = now(), full = start + (rate > 0 ? first_count / first_rate : 0);
  double warm = full + 1, end = warm + seconds;
  for (int i = 0; rate == 0 && i < clients; i++) {
    int length = request_text(request, sizeof request, path, i % tokens, etag);
    due[i] = now();
    if (write(fds[i], request, length) != length) die("write");
  }
  for (double t = now(); t < end; t = now()) {
    for (; rate > 0; next++) {
      double at = next < first_count ? start + next / first_rate : full + (next - first_count) / rate;
      if (at > t) break;
      int i = next % clients;
      if (due[i] > 0) {
        skipped += t >= warm;
        continue;
      }
      int length = request_text(request, sizeof request, path, i % tokens, etag);
      due[i] = at;
      if (write(fds[i], request, length) != length) die("write");
    }
    struct epoll_event events[BATCH];
    int ready = epoll_wait(ep, events, BATCH, rate > 0 ? 1 : 100);
    t = now();
    for (int k = 0; k < ready; k++) {
      int i = events[k].data.u32;
      ssize_t n = read(fds[i], buffer, sizeof buffer);
      if (n == 0 || (n < 0 && errno != EAGAIN)) die("connection ended");
      if (n < 4 || memcmp(buffer + n - 4, "\r\n\r\n", 4)) others += t >= warm;
      else if (memcmp(buffer, "HTTP/1.1 304", 12)) others += t >= warm;
      else if (t >= warm) {
        answers++;
        if (count < SAMPLES) samples[count++] = (t - due[i]) * 1e3;
      }
      due[i] = 0;
      if (rate > 0) continue;
      int length = request_text(request, sizeof request, path, i % tokens, etag);
      due[i] = t;
      if (write(fds[i], request, length) != length) die("write");
    }
  }
  qsort(samples, count, sizeof *samples, compare);
  printf("{\"perSecond\":%.0f,\"others\":%ld,\"skipped\":%ld,\"p50\":%.2f,\"p99\":%.2f,\"max\":%.2f}\n",
         answers / seconds, others, skipped, count ? samples[count / 2] : 0,
         count ? samples[count * 99 / 100] : 0, count ? samples[count - 1] : 0);
  return 0;
}
