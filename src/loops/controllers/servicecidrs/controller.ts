/**
 * ServiceCIDRs: a new range becomes Ready, so that addresses are allocated from it. A range that is being deleted stays
 * while a Service's address is in it and in no other range.
 *
 * Grace  an unneeded range is removed ten seconds after its deletion: by then no server allocates from it any more.
 * After  k/k pkg/controller/servicecidrs.
 */
import type { Condition, IPAddress, ServiceCIDR } from "#api/gen/types.ts";
import { formatTime, parseTime } from "#api/values/time.ts";
import { parseAddress, parseRange, rangeContains } from "#api/validation/ip.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import { keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { watch, type Source } from "#client/sources.ts";
import type { ControllerDeps } from "../framework/deps.ts";
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

const finalizer = "networking.k8s.io/service-cidr-finalizer";
const graceMs = 10_000;
const allocatorLabel = "ipaddress.kubernetes.io/managed-by";

export class ServiceCidrsController implements ControllerOptions<ServiceCIDR> {
  readonly name = "service-cidr-controller";
  readonly workers = 1;
  readonly ref = refs.servicecidrs;
  readonly when = { on: ["add", "update"] } as const;
  readonly sources: readonly Source[];
  readonly #deps: ControllerDeps;
  readonly #cidrs: Informer<ServiceCIDR>;
  readonly #addresses: Informer<IPAddress>;
  readonly #finalizers: FinalizerControl;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#cidrs = deps.informers.informer<ServiceCIDR>(refs.servicecidrs);
    this.#addresses = deps.informers.informer<IPAddress>(refs.ipaddresses);
    this.#finalizers = new FinalizerControl(deps, refs.servicecidrs, finalizer);
    // A new range or a deleted address may allow ranges to be deleted.
    const deletedKeys = (): readonly string[] => this.#cidrs.list().filter(isDeleted).map(keyOf);
    this.sources = [
      watch(this.#cidrs, deletedKeys, { on: ["add"] }),
      watch(this.#addresses, deletedKeys, { on: ["delete"] }),
    ];
  }

  async reconcile({ object: cidr }: ReconcileRequest<ServiceCIDR>): Promise<ReconcileResult> {
    if (cidr === undefined) return;
    if (isDeleted(cidr)) return this.#finish(cidr);
    // The finalizer is added first; its update adds this key again.
    if (needsWork(cidr, finalizer)) return this.#finalizers.add(cidr);
    return this.#setReady(cidr, { status: "True", reason: "", message: readyText });
  }

  async #finish(cidr: ServiceCIDR): Promise<ReconcileResult> {
    if (!needsWork(cidr, finalizer)) return;
    if (this.#isNeeded(cidr)) {
      return this.#setReady(cidr, { status: "False", reason: "Terminating", message: neededText });
    }
    const deletedMs = parseTime(cidr.metadata?.deletionTimestamp) ?? 0;
    const leftMs = graceMs - (this.#deps.clock.nowMs() - deletedMs);
    return leftMs > 0 ? { requeueAfterMs: leftMs } : this.#finalizers.remove(cidr);
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
    // Server-side apply, as upstream, so that other managers' conditions stay.
    const options = { subresource: "status", fieldManager: this.name, force: true };
    await this.#deps.client.patch(refs.servicecidrs, "", name, "apply", applied, options);
  }
}

function isDeleted({ metadata }: ServiceCIDR): boolean {
  return metadata?.deletionTimestamp !== undefined;
}

/** Upstream's text. */
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
