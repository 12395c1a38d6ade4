/**
 * What a process takes of its host, as metrics: names, units and help texts in one place for every role.
 *
 * `process_*` are named as Prometheus' client libraries and kube-apiserver name them, the heap's as the
 * library for Node does, so that dashboards work. A figure that the host does not tell is left out.
 */
export interface ProcessFigures {
  /** User and system time of the process. */
  readonly cpuSeconds: number;
  /** Time in which the event loop was busy. It is one thread's, however many cores the host has. */
  readonly loopBusySeconds: number;
  readonly residentBytes: number;
  readonly virtualBytes: number | undefined;
  readonly openFiles: number | undefined;
  readonly openFilesMax: number | undefined;
  /** Number of requests, handles and timers that keep the event loop alive. */
  readonly activeResources: number;
  /** Number of open connections of all listeners. */
  readonly connections: number;
  /** Number of connections of this process to others. */
  readonly dialed: number;
  readonly connectionsMax: number;
  /** Number of connections closed to make room for others. */
  readonly connectionsClosed: number;
  /** Start of the process, in seconds since the epoch. */
  readonly startSeconds: number;
  readonly heapUsedBytes: number;
  readonly heapTotalBytes: number;
  /** Memory outside of the heap, without array buffers. */
  readonly externalBytes: number;
  readonly arrayBufferBytes: number;
}

interface HostMetric {
  readonly name: string;
  readonly kind: "counter" | "gauge";
  readonly help: string;
  readonly value: number;
}

interface Declared {
  readonly name: string;
  readonly kind: "counter" | "gauge";
  readonly help: string;
  readonly read: (figures: ProcessFigures) => number | undefined;
}

const declared: readonly Declared[] = [
  {
    name: "process_cpu_seconds_total",
    kind: "counter",
    help: "User and system time, in seconds.",
    read: (figures) => figures.cpuSeconds,
  },
  {
    name: "nodejs_eventloop_busy_seconds_total",
    kind: "counter",
    help: "Time in which the event loop did not wait, in seconds.",
    read: (figures) => figures.loopBusySeconds,
  },
  gauge(
    "go_goroutines",
    "What keeps the event loop at work: requests, handles and timers. By this name, as dashboards of Kubernetes read no other.",
    (f) => f.activeResources,
  ),
  gauge("process_resident_memory_bytes", "Resident memory, in bytes.", (f) => f.residentBytes),
  gauge("process_virtual_memory_bytes", "Virtual memory, in bytes.", (f) => f.virtualBytes),
  gauge("process_open_fds", "File descriptors that are open.", (f) => f.openFiles),
  gauge("process_max_fds", "File descriptors that may be open.", (f) => f.openFilesMax),
  gauge("pilothouse_connections", "Connections of clients that are open.", (f) => f.connections),
  gauge(
    "pilothouse_dialed_connections",
    "Connections to other servers that are open: webhooks, kubelets, aggregated servers, stores.",
    (f) => f.dialed,
  ),
  gauge(
    "pilothouse_connections_max",
    "Connections of both kinds that may be open, below the limit of open files.",
    (f) => f.connectionsMax,
  ),
  {
    name: "pilothouse_connections_closed_total",
    kind: "counter",
    help: "Connections that were closed to make room for others.",
    read: (f) => f.connectionsClosed,
  },
  gauge("process_start_time_seconds", "Start, in seconds since the epoch.", (f) => f.startSeconds),
  gauge("nodejs_heap_size_used_bytes", "The heap's objects, in bytes.", (f) => f.heapUsedBytes),
  gauge("nodejs_heap_size_total_bytes", "The heap's pages, in bytes.", (f) => f.heapTotalBytes),
  gauge(
    "nodejs_external_memory_bytes",
    "Memory of objects off the heap, without array buffers, in bytes.",
    (f) => f.externalBytes,
  ),
  gauge("nodejs_array_buffers_bytes", "Array buffers, in bytes.", (f) => f.arrayBufferBytes),
];

export function processMetrics(figures: ProcessFigures): readonly HostMetric[] {
  return declared.flatMap(({ name, kind, help, read }) => {
    const value = read(figures);
    return value === undefined ? [] : [{ name, kind, help, value }];
  });
}

function gauge(name: string, help: string, read: Declared["read"]): Declared {
  return { name, kind: "gauge", help, read };
}
