/**
 * ServiceCIDRs: one that is made becomes Ready, so that addresses come from it; one that is deleted stays while a
 * Service's address lies in it and in no other.
 *
 * Grace  a deleted range that nothing needs goes after ten seconds: by then no server allocates from it any more.
 * After  k/k pkg/controller/servicecidrs.
 */
import type { Condition, IPAddress, ServiceCIDR } from "#api/gen/types.ts";
import { formatTime, parseTime } from "#api/time.ts";
import { parseAddress, parseRange, rangeContains } from "#api/validation/ip.ts";
import { keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import type { WorkQueueMetrics } from "#client/workqueue.ts";
import {
  queueController,
  type Controller,
  type ControllerDeps,
  type QueueController,
} from "../framework/controller.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { FinalizerControl, needsWork } from "../protection/finalizer-control.ts";

export const serviceCidrsRole: ControllerRole = {
  account: "service-cidrs-controller",
  rules: [
    "get,list,patch,update,watch | networking.k8s.io | servicecidrs",
    "patch,update | networking.k8s.io | servicecidrs/finalizers",
    "patch,update | networking.k8s.io | servicecidrs/status",
    "read | networking.k8s.io | ipaddresses",
    "events",
  ],
};

const workers = 1;
const finalizer = "networking.k8s.io/service-cidr-finalizer";
const graceMs = 10_000;
const allocatorLabel = "ipaddress.kubernetes.io/managed-by";

export class ServiceCidrsController implements Controller {
  readonly name = "service-cidr-controller";
  readonly #deps: ControllerDeps;
  readonly #cidrs: Informer<ServiceCIDR>;
  readonly #addresses: Informer<IPAddress>;
  readonly #finalizers: FinalizerControl;
  readonly #loop: QueueController;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#cidrs = deps.informers.informer<ServiceCIDR>(refs.servicecidrs);
    this.#addresses = deps.informers.informer<IPAddress>(refs.ipaddresses);
    this.#finalizers = new FinalizerControl(deps, refs.servicecidrs, finalizer);
    const { name } = this;
    this.#loop = queueController(deps, { name, workers }, (key) => this.#reconcile(key));
    this.#addHandlers();
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  metrics(): WorkQueueMetrics {
    return this.#loop.metrics();
  }

  #addHandlers(): void {
    const enqueue = (cidr: ServiceCIDR): void => this.#loop.queue.add(keyOf(cidr));
    /** What else came or went decides only about ranges that are being deleted. */
    const enqueueDeleted = (): void => {
      for (const cidr of this.#cidrs.list()) {
        if (cidr.metadata?.deletionTimestamp !== undefined) enqueue(cidr);
      }
    };
    this.#cidrs.addHandler({
      add: (cidr) => {
        enqueue(cidr);
        enqueueDeleted();
      },
      update: (_old, cidr) => enqueue(cidr),
    });
    this.#addresses.addHandler({ delete: enqueueDeleted });
  }

  async #reconcile(key: string): Promise<void> {
    const cidr = this.#cidrs.getByKey(key);
    if (cidr === undefined) return;
    if (cidr.metadata?.deletionTimestamp !== undefined) return this.#finish(key, cidr);
    // The finalizer comes first; its update wakes this key again.
    if (needsWork(cidr, finalizer)) return this.#finalizers.add(cidr);
    await this.#setReady(cidr, { status: "True", reason: "", message: readyText });
  }

  async #finish(key: string, cidr: ServiceCIDR): Promise<void> {
    if (!needsWork(cidr, finalizer)) return;
    if (this.#isNeeded(cidr)) {
      return this.#setReady(cidr, { status: "False", reason: "Terminating", message: neededText });
    }
    const deletedMs = parseTime(cidr.metadata?.deletionTimestamp) ?? 0;
    const leftMs = graceMs - (this.#deps.clock.nowMs() - deletedMs);
    if (leftMs > 0) this.#loop.queue.addAfter(key, leftMs);
    else await this.#finalizers.remove(cidr);
  }

  #isNeeded(cidr: ServiceCIDR): boolean {
    const others = this.#cidrs.list().filter((one) => keyOf(one) !== keyOf(cidr));
    return this.#addresses.list().some((one) => {
      const name = one.metadata?.name ?? "";
      if (one.metadata?.labels?.[allocatorLabel] === undefined) return false;
      return holds(cidr, name) && !others.some((other) => holds(other, name));
    });
  }

  async #setReady(
    cidr: ServiceCIDR,
    wanted: Omit<Condition, "type" | "lastTransitionTime">,
  ): Promise<void> {
    const conditions = cidr.status?.conditions ?? [];
    const old = conditions.find(({ type }) => type === "Ready");
    if (old?.status === wanted.status && (old.reason ?? "") === wanted.reason) return;
    const lastTransitionTime = formatTime(this.#deps.clock.nowMs());
    const ready = { type: "Ready", lastTransitionTime, ...wanted };
    const name = cidr.metadata?.name ?? "";
    const applied = {
      apiVersion: "networking.k8s.io/v1",
      kind: "ServiceCIDR",
      metadata: { name },
      status: { conditions: [ready] },
    };
    // Applied, as upstream's: conditions of others are theirs.
    const options = { subresource: "status", fieldManager: this.name, force: true };
    await this.#deps.client.patch(refs.servicecidrs, "", name, "apply", applied, options);
  }
}

/** Upstream's words. */
const readyText = "Kubernetes Service CIDR is ready";
const neededText =
  "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR";

function holds({ spec }: ServiceCIDR, name: string): boolean {
  const address = parseAddress(name);
  if (address === undefined) return false;
  return (spec?.cidrs ?? []).some((text) => {
    const range = parseRange(text);
    return range !== undefined && rangeContains(range, address);
  });
}
