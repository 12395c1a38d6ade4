/**
 * Namespace lifecycle: empties a namespace that is being deleted, pass by pass (contents.ts), and
 * finishes it when nothing is left.
 *
 * Shows  the five conditions of the status report the remaining objects and the kinds that could not be read.
 * Safe   the `kubernetes` finalizer is removed only after a pass that read every served kind and found no objects.
 * Pace   a pass when the last pod has been removed, else after 0.25 s, doubling to 15 s.
 */
import type { Namespace, NamespaceStatus, Pod } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { formatTime, parseTime } from "#api/values/time.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { watch, type Source } from "#client/sources.ts";
import { ignoreGone } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { discover } from "../framework/discovery.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { isNothingLeft, namespaceConditions, type Remains } from "./conditions.ts";
import { NamespaceContents } from "./contents.ts";

export const namespaceRole: ControllerRole = {
  account: "namespace-controller",
  rules: [
    "delete,get,list,watch | core | namespaces",
    "update | core | namespaces/finalize,namespaces/status",
    "delete,deletecollection,get,list,watch | * | *",
  ],
};

const finalizer = "kubernetes";
/** Delay before objects with a grace period or finalizers are checked again. */
const retryFirstMs = 250;
const retryMostMs = 15_000;

export class NamespaceController implements ControllerOptions<Namespace> {
  readonly name = "namespace-controller";
  readonly workers = 10;
  readonly ref = refs.namespaces;
  /** Ignores the status, which this controller writes. */
  readonly when = { only: isGoing, changed: goesOtherwise } as const;
  readonly sources: readonly Source[];
  readonly #deps: ControllerDeps;
  readonly #contents: NamespaceContents;
  /** Number of passes, by name of a namespace being deleted. */
  readonly #passes = new Map<string, number>();

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#contents = new NamespaceContents(deps);
    const namespaces = deps.informers.informer<Namespace>(refs.namespaces);
    const pods = deps.informers.informer<Pod>(refs.pods);
    // Everything else can be deleted once the last pod is gone.
    const isLast = ({ metadata }: Pod): boolean => {
      const namespace = namespaces.get("", metadata?.namespace ?? "");
      return (
        namespace !== undefined && isGoing(namespace) && pods.list(metadata?.namespace).length === 0
      );
    };
    this.sources = [
      watch(pods, ({ metadata }) => metadata?.namespace, { on: ["delete"], only: isLast }),
    ];
  }

  async reconcile({
    key: name,
    object: namespace,
  }: ReconcileRequest<Namespace>): Promise<ReconcileResult> {
    if (namespace === undefined) this.#passes.delete(name);
    if (namespace === undefined || !isGoing(namespace)) return undefined;
    if (!(namespace.spec?.finalizers ?? []).includes(finalizer)) return undefined;
    const { resources, failed: unread } = await discover(this.#deps.client);
    const nowMs = this.#deps.clock.nowMs();
    const deletedAtMs = parseTime(namespace.metadata?.deletionTimestamp) ?? nowMs;
    const going = { name, goingForMs: nowMs - deletedAtMs };
    const remains = { ...(await this.#contents.empty(going, resources)), unread };
    await this.#writeStatus(namespace, remains);
    if (!isNothingLeft(remains)) return { requeueAfterMs: this.#countPass(name) };
    await this.#finish(namespace);
    return undefined;
  }

  /** @returns the delay before the next pass. */
  #countPass(name: string): number {
    const pass = this.#passes.get(name) ?? 0;
    this.#passes.set(name, pass + 1);
    return Math.min(retryMostMs, retryFirstMs * 2 ** Math.min(pass, 10));
  }

  /** Best effort: after a conflict, the next pass writes the status. */
  async #writeStatus(namespace: Namespace, remains: Remains): Promise<void> {
    const old = namespace.status?.conditions ?? [];
    const conditions = namespaceConditions(old, remains, formatTime(this.#deps.clock.nowMs()));
    if (conditions === old) return;
    const status: NamespaceStatus = { ...namespace.status, conditions };
    const options = { subresource: "status" };
    await this.#deps.client
      .update(refs.namespaces, "", { ...namespace, status }, options)
      .catch(ignoreGone);
  }

  async #finish(namespace: Namespace): Promise<void> {
    const name = namespace.metadata?.name ?? "";
    this.#passes.delete(name);
    try {
      const current = await this.#deps.client.get<Namespace>(refs.namespaces, "", name);
      if (current.metadata?.uid === namespace.metadata?.uid) await this.#finalize(current);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #finalize(namespace: Namespace): Promise<void> {
    const finalizers = (namespace.spec?.finalizers ?? []).filter((one) => one !== finalizer);
    const next = { ...namespace, spec: { ...namespace.spec, finalizers } };
    await this.#deps.client.update(refs.namespaces, "", next, { subresource: "finalize" });
  }
}

function isGoing(namespace: Namespace): boolean {
  return namespace.metadata?.deletionTimestamp !== undefined;
}

function goesOtherwise(old: Namespace, namespace: Namespace): boolean {
  return !isGoing(old) || !jsonEqual(old.spec, namespace.spec);
}
