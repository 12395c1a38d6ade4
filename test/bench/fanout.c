/*
 * Both ends of a fan-out over HTTP/1.1 with as little in between as can be: the floor that
 * `npm run bench -- fanout` holds the relay against, and the client that counts for both.
 *
 *   fanout serve PORT CLIENTS BLOCK_BYTES   prints its port (0: any), waits for CLIENTS, then writes rounds of one chunk to each;
 *                                           a round starts when the one before is with the kernel
 *   fanout drain PORT CLIENTS STALLED SECONDS PATH     ("%d" in PATH is the client's number)
 *                                           opens CLIENTS watches and never reads the first STALLED;
 *                                           prints bytes per second read, stamped events per second,
 *                                           and their p50, p99 and highest age in microseconds
 *                                           SECONDS 0: no end; every SIGUSR1 prints the bytes read so far
 *
 * One thread, epoll, no parsing: what is sent is counted in bytes by the reader. An event may hold
 * one stamp, '@' and 19 digits of CLOCK_MONOTONIC in nanoseconds; one cut by the end of a read is
 * not counted. Sources are 127.0.0.2 and up, 20,000 connections each.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
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

static void die(const char *what) {
  perror(what);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

static void unblock(int fd) {
  int one = 1;
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static struct sockaddr_in address(int port) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return a;
}

static void serve(int port, int clients, size_t block) {
  static const char head[] =
      "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in a = address(port);
  if (bind(listener, (void *)&a, sizeof a) || listen(listener, 4096)) die("listen");
  socklen_t size = sizeof a;
  if (getsockname(listener, (void *)&a, &size)) die("port");
  printf("%d\n", ntohs(a.sin_port));
  fflush(stdout);
  int *fds = calloc(clients, sizeof *fds);
  size_t *left = calloc(clients, sizeof *left);
  char request[4096], *chunk = malloc(block + 32);
  int start = sprintf(chunk, "%zx\r\n", block);
  memset(chunk + start, 'x', block);
  memcpy(chunk + start + block, "\r\n", 2);
  size_t length = start + block + 2;
  int ep = epoll_create1(0);
  for (int i = 0; i < clients; i++) {
    fds[i] = accept(listener, NULL, NULL);
    if (fds[i] < 0) die("accept");
    if (read(fds[i], request, sizeof request) <= 0) die("request");
    if (write(fds[i], head, sizeof head - 1) < 0) die("head");
    unblock(fds[i]);
    struct epoll_event e = {.events = EPOLLOUT | EPOLLET, .data.u32 = i};
    epoll_ctl(ep, EPOLL_CTL_ADD, fds[i], &e);
  }
  for (;;) {
    int open = 0;
    for (int i = 0; i < clients; i++) {
      ssize_t n = write(fds[i], chunk, length);
      if (n < 0 && errno != EAGAIN) exit(0);
      left[i] = length - (n > 0 ? n : 0);
      if (left[i]) open++;
    }
    while (open > 0) {
      struct epoll_event events[BATCH];
      int count = epoll_wait(ep, events, BATCH, 1000);
      for (int k = 0; k < count; k++) {
        int i = events[k].data.u32;
        if (!left[i]) continue;
        ssize_t n = write(fds[i], chunk + length - left[i], left[i]);
        if (n < 0 && errno != EAGAIN) exit(0);
        if (n > 0) left[i] -= n;
        if (!left[i]) open--;
      }
    }
  }
}

/* Ages in steps of 1/64 of a power of two: 1 % wide. */
#define BUCKETS 4096
#define STEPS 64
static double counts[BUCKETS], highest;

static void observe(double us) {
  if (us < 1) us = 1;
  if (us > highest) highest = us;
  int step = log2(us) * STEPS;
  counts[step < BUCKETS ? step : BUCKETS - 1]++;
}

static double quantile(double share) {
  double all = 0, seen = 0;
  for (int i = 0; i < BUCKETS; i++) all += counts[i];
  for (int i = 0; i < BUCKETS; i++)
    if (all > 0 && (seen += counts[i]) >= all * share) return exp2((i + 1) / (double)STEPS);
  return 0;
}

static double observeAll(const char *from, const char *end) {
  double seen = 0;
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  long long at = t.tv_sec * 1000000000LL + t.tv_nsec;
  while ((from = memchr(from, '@', end - from)) && end - from >= 20) {
    long long stamp = 0;
    for (int i = 1; i <= 19; i++) stamp = stamp * 10 + (from[i] - '0');
    observe((at - stamp) / 1e3);
    seen++;
    from += 20;
  }
  return seen;
}

/* `stalled`: a small pipe, as a network has it, so that who never reads is soon full; loopback takes megabytes. */
static int opened(int port, int index, int stalled) {
  int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1, segment = 536, window = 4096;
  struct sockaddr_in a = address(port), source = address(0);
  if (fd < 0) die("socket");
  source.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + index / 20000);
  setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
  if (bind(fd, (void *)&source, sizeof source)) die("source address");
  if (stalled) setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
  if (stalled) setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof window);
  if (connect(fd, (void *)&a, sizeof a)) die("connect");
  return fd;
}

static volatile sig_atomic_t asked;

static void ask(int signal) {
  (void)signal;
  asked = 1;
}

static void drain(int port, int clients, int stalled, double seconds, const char *path) {
  char request[512];
  static char buffer[1 << 18];
  const char *number = strstr(path, "%d");
  int before = number ? (int)(number - path) : (int)strlen(path);
  int ep = epoll_create1(0);
  for (int i = 0; i < clients; i++) {
    int size = snprintf(request, sizeof request, "GET %.*s", before, path);
    if (number) size += snprintf(request + size, sizeof request - size, "%d%s", i, number + 2);
    size += snprintf(request + size, sizeof request - size, " HTTP/1.1\r\nhost: x\r\n\r\n");
    int fd = opened(port, i, i < stalled);
    if (write(fd, request, size) != size) die("request");
    unblock(fd);
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
    if (i >= stalled) epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
  }
  /* The first second is for slow starts; whoever measures the server waits for the line. */
  signal(SIGUSR1, ask);
  printf("connected\n");
  fflush(stdout);
  double begin = now() + (seconds > 0), end = seconds > 0 ? begin + seconds : INFINITY;
  double bytes = 0, stamped = 0;
  for (double t = now(); t < end;) {
    struct epoll_event events[BATCH];
    int count = epoll_wait(ep, events, BATCH, 100);
    t = now();
    if (asked) {
      asked = 0;
      printf("%.0f\n", bytes);
      fflush(stdout);
    }
    for (int k = 0; k < count; k++) {
      ssize_t n = read(events[k].data.fd, buffer, sizeof buffer);
      if (n == 0 || (n < 0 && errno != EAGAIN)) die("stream ended");
      if (n <= 0 || t < begin) continue;
      bytes += n;
      stamped += observeAll(buffer, buffer + n);
    }
  }
  printf("%.0f %.0f %.0f %.0f %.0f\n", bytes / seconds, stamped / seconds, quantile(0.5),
         quantile(0.99), highest);
}

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN);
  if (argc == 5 && !strcmp(argv[1], "serve")) serve(atoi(argv[2]), atoi(argv[3]), atol(argv[4]));
  else if (argc == 7 && !strcmp(argv[1], "drain"))
    drain(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), atof(argv[5]), argv[6]);
  else return 2;
  return 0;
}
