/**
 * Time as an argument. Nothing below `cmd` reads the wall clock or sets a host timer itself:
 * a test lists and fires every timer by its name (`testing/clock.ts`).
 */

/** Names of all timers of the product. The set is closed, so that a test can ask whether a timer is armed. */
export type TimerName =
  | "plane.leave"
  | "plane.beat"
  | "plane.worker"
  | "client.rate-limit"
  | "client.recovery"
  | "store.compact"
  | "store.checkpoint"
  | "store.lease"
  | "store.watch"
  | "store.batch"
  | "store.log"
  | "etcd.progress"
  | "etcd.deadline"
  | "postgres.answer"
  | "etcd.ping"
  | "etcd.snapshot"
  | "etcd.head"
  | "etcd.message"
  | "etcd.stall"
  | "etcd.close"
  | "etcd.replica-follow"
  | "etcd.replica-ask"
  | "etcd.replica-wait"
  | "etcd.replica-prefer"
  | "watch.bookmark"
  | "watch.flush"
  | "registry.wait"
  | "registry.rehome"
  | "http.stall"
  | "server.deadline"
  | "server.answer"
  | "server.watch"
  | "server.drain"
  | "server.audit"
  | "server.websocket"
  | "auth.rotate"
  | "auth.keys"
  | "auth.webhook"
  | "encryption.reload"
  | "encryption.kms"
  | "tracing.export"
  | "supervisor.retry"
  | "admission.wait"
  | "webhook.call"
  | "webhook.retry"
  | "flowcontrol.wait"
  | "flowcontrol.borrow"
  | "flowcontrol.ensure"
  | "client.backoff"
  | "client.events"
  | "client.resync"
  | "client.delay"
  | "client.election"
  | "scheduler.backoff"
  | "scheduler.flush"
  | "scheduler.forget"
  | "scheduler.groups"
  | "scheduler.step"
  | "scheduler.watchdog"
  | "controllers.resync"
  | "controllers.delay"
  | "controllers.metrics"
  | "hollow.heartbeat"
  | "hollow.step"
  | "hollow.failures"
  | "hollow.watches"
  | "stages.look"
  | "kubelet.end"
  | "regions.probe"
  | "regions.timeout"
  | "regions.agent"
  | "relay.fresh"
  | "relay.review"
  | "relay.poll"
  | "relay.balance"
  | "relay.drain"
  | "relay.settle"
  | "relay.xds"
  | "request.turn"
  | "offload.task"
  | "offload.idle"
  | "memory.look"
  | "openapi.idle"
  | "apiserver.identity"
  | "apiserver.services"
  | "apiserver.endpoints"
  | "aggregation.check"
  | "aggregation.discovery"
  | "aggregation.openapi"
  | "aggregation.fetch"
  | "aggregation.answer"
  | "aggregation.register"
  | "aggregation.watch"
  | "extension.definitions"
  | "list.idle"
  | "sink.append"
  | "sink.state"
  | "sink.history"
  | "autoscaler.scan"
  | "autoscaler.drain"
  | "autoscaler.call"
  | "sim.step";

export interface Timer {
  /** Idempotent; after it returns the callback will not run. */
  cancel(): void;
}

export interface Clock {
  /** Wall time in milliseconds since 1970; may jump. For timestamps people see. */
  nowMs(): number;
  /** Milliseconds since an arbitrary start; never goes back. For durations and deadlines. */
  monotonicMs(): number;
  /** Runs `f` once, not before `delayMs` from now. Does not keep the process alive by itself. */
  after(name: TimerName, delayMs: number, f: () => void): Timer;
}

/** Resolves after `delayMs`, or at once when `signal` aborts. Never rejects. */
export function sleep(
  clock: Clock,
  name: TimerName,
  delayMs: number,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      timer.cancel();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.after(name, delayMs, done);
    signal.addEventListener("abort", done, { once: true });
  });
}
