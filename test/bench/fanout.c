/*
 * Both ends of a fan-out over HTTP/1.1 with as little in between as can be: the floor that
 * `npm run bench -- fanout` holds the relay against, and the client that counts for both.
 *
 *   fanout serve PORT CLIENTS BLOCK_BYTES   waits for CLIENTS, then writes rounds of one chunk to each;
 *                                           a round starts when the one before is with the kernel
 *   fanout drain PORT CLIENTS SECONDS PATH  opens CLIENTS watches, prints bytes per second read
 *
 * One thread, epoll, no parsing: what is sent is counted in bytes by the reader.
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
  int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  struct sockaddr_in a = address(port);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(listener, (void *)&a, sizeof a) || listen(listener, 4096)) die("listen");
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

static void drain(int port, int clients, double seconds, const char *path) {
  char request[512];
  static char buffer[1 << 18];
  int size = sprintf(request, "GET %s HTTP/1.1\r\nhost: x\r\n\r\n", path);
  int ep = epoll_create1(0);
  for (int i = 0; i < clients; i++) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = address(port);
    if (connect(fd, (void *)&a, sizeof a)) die("connect");
    if (write(fd, request, size) != size) die("request");
    unblock(fd);
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
  }
  /* The first second is for slow starts; whoever measures the server waits for the line. */
  printf("connected\n");
  fflush(stdout);
  double begin = now() + 1, end = begin + seconds, bytes = 0;
  for (double t = now(); t < end;) {
    struct epoll_event events[BATCH];
    int count = epoll_wait(ep, events, BATCH, 100);
    t = now();
    for (int k = 0; k < count; k++) {
      ssize_t n = read(events[k].data.fd, buffer, sizeof buffer);
      if (n == 0 || (n < 0 && errno != EAGAIN)) die("stream ended");
      if (n > 0 && t >= begin) bytes += n;
    }
  }
  printf("%.0f\n", bytes / seconds);
}

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN);
  if (argc == 5 && !strcmp(argv[1], "serve")) serve(atoi(argv[2]), atoi(argv[3]), atol(argv[4]));
  else if (argc == 6 && !strcmp(argv[1], "drain"))
    drain(atoi(argv[2]), atoi(argv[3]), atof(argv[4]), argv[5]);
  else return 2;
  return 0;
}
