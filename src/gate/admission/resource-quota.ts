/**
 * ResourceQuota: refuses a write that would exceed a quota of its namespace. A write that fits is charged before it is
 * stored.
 *
 * Holds  within this process no two writes are admitted for the same free quota. Per namespace one round at a time
 *        reads the quotas, admits the writes that fit, and stores the new usage once for the whole round.
 * Retry  a round whose status write conflicts with another writer starts again, at most three times.
 * After  the charge of an abandoned write is removed. If that fails, the quota controller corrects the usage.
 * Cost   nothing in a namespace without quotas; else one status write per round, for any number of waiting writes.
 */
import { dictionary, ownEntry } from "#base/own.ts";
import type { ResourceQuota } from "#api/gen/types.ts";
import type { Lister } from "#api/lister.ts";
import { isNamespaceResource } from "#api/object.ts";
import type { AnyObject } from "#api/object.ts";
import type { Quantity } from "#api/values/quantity.ts";
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  subQuantities,
  tryParseQuantity,
  zeroQuantity,
} from "#api/values/quantity.ts";
import type { Usage, UsageEvaluator } from "#api/quota-usage.ts";
import { quotaMatches, usageEvaluator } from "#api/quota-usage.ts";
import { ApiError } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { groupResource, forbiddenError } from "./request.ts";

interface ResourceQuotaDeps {
  readonly lookup: Lister;
  /** Absent: none. */
  readonly limitedResources?: readonly LimitedResource[];
  readonly clock: Clock;
  /**
   * Writes `status` of a quota read from `lookup`, guarded by its resourceVersion. Resolves when lookup shows the
   * result; rejects with ApiError 409 after a conflicting write.
   */
  readonly updateQuota: (quota: ResourceQuota) => Promise<unknown>;
}

/** Configured by the operator: matching resources may only be used if a quota limits them. */
export interface LimitedResource {
  readonly group: string;
  readonly resource: string;
  /** Substrings of the names of resources. */
  readonly matchContains: readonly string[];
}

const triesMax = 3;

/** Usage charged to each quota, by name. */
type Charge = ReadonlyMap<string, Usage>;

interface Waiter {
  readonly request: AdmissionRequest;
  readonly evaluator: UsageEvaluator;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export function resourceQuota(deps: ResourceQuotaDeps): AdmissionPlugin {
  const charges = new QuotaCharges(deps);
  return {
    name: "ResourceQuota",
    validate: (request) => charges.charge(request),
    unreserve: (request) => charges.giveBack(request),
  };
}

class QuotaCharges {
  readonly #deps: ResourceQuotaDeps;
  /** Namespaces with a running round, and the requests that wait for the next one. */
  readonly #waiting = new Map<string, Waiter[]>();
  readonly #charged = new WeakMap<object, Charge>();

  constructor(deps: ResourceQuotaDeps) {
    this.#deps = deps;
  }

  charge(request: AdmissionRequest): void | Promise<void> {
    const { namespace, object, operation, subresource, oldObject, info } = request;
    const making = operation === "CREATE" && isNamespaceResource(info);
    if (namespace === "" || object === undefined || making) return undefined;
    if (operation !== "CREATE" && operation !== "UPDATE") return undefined;
    const evaluator = usageEvaluator(groupResource(request));
    if (evaluator?.handles({ operation, subresource, object, oldObject }) !== true)
      return undefined;
    const quotas = this.#quotas(namespace);
    this.#requireCover(request, evaluator, quotas);
    if (quotas.length === 0) return undefined;
    return new Promise((resolve, reject) => {
      this.#enqueue(namespace, { request, evaluator, resolve, reject });
    });
  }

  #requireCover(
    request: AdmissionRequest,
    evaluator: UsageEvaluator,
    quotas: readonly ResourceQuota[],
  ): void {
    const { group, resource } = request.info;
    const limited = (this.#deps.limitedResources ?? []).filter(
      (each) => each.group === group && each.resource === resource,
    );
    if (limited.length === 0) return;
    const object = request.object ?? {};
    const used = Object.keys(evaluator.usage(object, this.#deps.clock.nowMs()));
    const isLimited = (name: string): boolean =>
      limited.some(({ matchContains }) => matchContains.some((part) => name.includes(part)));
    const covered = new Set(quotas.flatMap((quota) => coveredBy(quota, evaluator, object)));
    const missing = used.filter((name) => isLimited(name) && !covered.has(name)).sort();
    if (missing.length === 0) return;
    throw forbiddenError(request, `insufficient quota to consume: ${missing.join(",")}`);
  }

  giveBack(request: AdmissionRequest): void {
    const attempt = attemptOf(request);
    const charge = this.#charged.get(attempt);
    if (charge === undefined) return;
    this.#charged.delete(attempt);
    void this.#subtract(request.namespace, charge);
  }

  async #subtract(namespace: string, charge: Charge): Promise<void> {
    for (const [name, usage] of charge) {
      const quota = this.#quotas(namespace).find((q) => q.metadata?.name === name);
      if (quota === undefined) continue;
      try {
        await this.#deps.updateQuota(withUsed(quota, minus(readUsed(quota), usage)));
      } catch {
        // The quota controller recounts usage and corrects an excess.
      }
    }
  }

  #quotas(namespace: string): readonly ResourceQuota[] {
    return this.#deps.lookup.list({ group: "", resource: "resourcequotas" }, namespace);
  }

  #enqueue(namespace: string, waiter: Waiter): void {
    const waiting = this.#waiting.get(namespace);
    if (waiting !== undefined) {
      waiting.push(waiter);
      return;
    }
    this.#waiting.set(namespace, [waiter]);
    void this.#rounds(namespace);
  }

  /** Runs rounds until no request waits. The map entry serves as the lock. */
  async #rounds(namespace: string): Promise<void> {
    for (;;) {
      const waiters = this.#waiting.get(namespace)?.splice(0) ?? [];
      if (waiters.length === 0) break;
      try {
        await this.#round(namespace, waiters);
      } catch (error) {
        // Unanswered requests are rejected, and the next round begins.
        for (const waiter of waiters) waiter.reject(error);
      }
    }
    this.#waiting.delete(namespace);
  }

  async #round(namespace: string, waiters: readonly Waiter[]): Promise<void> {
    let open = waiters;
    for (let tries = triesMax; open.length > 0; tries--) {
      const round = new QuotaRound(this.#quotas(namespace), this.#deps.clock.nowMs());
      const admitted = new Map<Waiter, Charge>();
      for (const waiter of open) this.#admit(round, waiter, admitted);
      open = [...admitted.keys()];
      const error = await this.#write(round, admitted);
      if (error !== undefined && tries > 0 && isConflict(error)) continue;
      for (const waiter of open) this.#settle(waiter, error);
      return;
    }
  }

  /** Refused and dry-run waiters are answered here; the others wait for the status write. */
  #admit(round: QuotaRound, waiter: Waiter, admitted: Map<Waiter, Charge>): void {
    try {
      // On a retry of the same attempt, the previous charge counts as free.
      const charge = round.admit(waiter, this.#charged.get(attemptOf(waiter.request)));
      if (waiter.request.dryRun) waiter.resolve();
      else admitted.set(waiter, charge);
    } catch (error) {
      waiter.reject(error);
    }
  }

  /** Records each written quota immediately, so that a retry after a partial round charges nothing twice. */
  async #write(round: QuotaRound, admitted: ReadonlyMap<Waiter, Charge>): Promise<unknown> {
    for (const quota of round.changed()) {
      try {
        await this.#deps.updateQuota(quota);
      } catch (error) {
        return error ?? new Error("the quota's status could not be written");
      }
      const name = quota.metadata?.name ?? "";
      for (const [waiter, charge] of admitted) this.#note(waiter, name, charge.get(name));
    }
    return undefined;
  }

  #note(waiter: Waiter, name: string, usage: Usage | undefined): void {
    if (usage === undefined) return;
    const attempt = attemptOf(waiter.request);
    this.#charged.set(attempt, new Map([...(this.#charged.get(attempt) ?? []), [name, usage]]));
  }

  #settle(waiter: Waiter, error: unknown): void {
    if (error === undefined) {
      waiter.resolve();
      return;
    }
    this.giveBack(waiter.request);
    waiter.reject(error);
  }
}

function attemptOf(request: AdmissionRequest): object {
  return request.attempt ?? request;
}

function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.code === 409;
}

/** The quotas as if everything admitted so far had been written. */
class QuotaRound {
  readonly #quotas: readonly ResourceQuota[];
  readonly #used: Usage[];
  readonly #nowMs: number;

  constructor(quotas: readonly ResourceQuota[], nowMs: number) {
    this.#quotas = quotas;
    this.#used = quotas.map(readUsed);
    this.#nowMs = nowMs;
  }

  changed(): readonly ResourceQuota[] {
    return this.#quotas.flatMap((quota, index) => {
      const used = this.#used[index] ?? {};
      return sameUsage(used, readUsed(quota)) ? [] : [withUsed(quota, used)];
    });
  }

  /** Charges all quotas that apply, or throws the error. */
  admit(waiter: Waiter, before: Charge | undefined): Charge {
    const charge = new Map<string, Usage>();
    const next = [...this.#used];
    for (const [index, quota] of this.#quotas.entries()) {
      const delta = this.#delta(quota, waiter);
      if (delta === undefined) continue;
      const name = quota.metadata?.name ?? "";
      const used = minus(this.#used[index] ?? {}, before?.get(name) ?? {});
      if (waiter.request.subresource !== "status") requireRoom(waiter.request, quota, used, delta);
      next[index] = plus(used, delta);
      charge.set(name, delta);
    }
    // A dry run is checked without being charged.
    if (!waiter.request.dryRun) this.#used.splice(0, next.length, ...next);
    return charge;
  }

  /** The usage that the write adds to the names limited by `quota`; undefined: none. */
  #delta(quota: ResourceQuota, { request, evaluator }: Waiter): Usage | undefined {
    const object = request.object ?? {};
    const hard = Object.keys(quota.status?.hard ?? {});
    if (!quotaMatches(evaluator, quota, hard, object)) return undefined;
    const limited = evaluator.matching(hard);
    requireKnown(request, quota, evaluator, limited);
    const usage = evaluator.usage(object, this.#nowMs);
    requirePositive(request, usage);
    const old = this.#oldUsage(quota, request, evaluator, hard);
    const delta = dictionary<Quantity>();
    for (const name of limited) {
      const more = subQuantities(
        ownEntry(usage, name) ?? zeroQuantity,
        ownEntry(old, name) ?? zeroQuantity,
      );
      if (more.nanos > 0n) delta[name] = more;
    }
    return Object.keys(delta).length === 0 ? undefined : delta;
  }

  /** An update is charged the difference, if the old object counted in the same quota. */
  #oldUsage(
    quota: ResourceQuota,
    request: AdmissionRequest,
    evaluator: UsageEvaluator,
    hard: readonly string[],
  ): Usage {
    const old = request.operation === "UPDATE" ? request.oldObject : undefined;
    if (old?.metadata?.resourceVersion === undefined) return {};
    return quotaMatches(evaluator, quota, hard, old) ? evaluator.usage(old, this.#nowMs) : {};
  }
}

/** The names limited by `quota` that apply to this object. */
function coveredBy(
  quota: ResourceQuota,
  evaluator: UsageEvaluator,
  object: AnyObject,
): readonly string[] {
  const hard = Object.keys(quota.status?.hard ?? {});
  return quotaMatches(evaluator, quota, hard, object) ? evaluator.matching(hard) : [];
}

function requireKnown(
  request: AdmissionRequest,
  quota: ResourceQuota,
  evaluator: UsageEvaluator,
  limited: readonly string[],
): void {
  const name = quota.metadata?.name ?? "";
  const missing = evaluator.missing(limited, request.object ?? {});
  if (missing !== undefined) throw forbiddenError(request, `failed quota: ${name}: ${missing}`);
  if (limited.every((entry) => quota.status?.used?.[entry] !== undefined)) return;
  const names = limited.toSorted().join(",");
  throw forbiddenError(request, `status unknown for quota: ${name}, resources: ${names}`);
}

function requirePositive(request: AdmissionRequest, usage: Usage): void {
  const negative = Object.entries(usage).filter(([, amount]) => amount.nanos < 0n);
  if (negative.length === 0) return;
  const names = negative.map(([name]) => name).sort();
  throw forbiddenError(request, `quota usage is negative for resource(s): ${names.join(",")}`);
}

function requireRoom(
  request: AdmissionRequest,
  quota: ResourceQuota,
  used: Usage,
  delta: Usage,
): void {
  const hard = parseAll(quota.status?.hard);
  const over = Object.keys(delta).filter((name) => {
    const sum = addQuantities(
      ownEntry(used, name) ?? zeroQuantity,
      ownEntry(delta, name) ?? zeroQuantity,
    );
    return compareQuantities(sum, ownEntry(hard, name) ?? zeroQuantity) > 0;
  });
  if (over.length === 0) return;
  const print = (usage: Usage): string =>
    over
      .toSorted()
      .map((name) => `${name}=${formatQuantity(ownEntry(usage, name) ?? zeroQuantity)}`)
      .join(",");
  throw forbiddenError(
    request,
    `exceeded quota: ${quota.metadata?.name ?? ""}, requested: ${print(delta)}, used: ${print(used)}, limited: ${print(hard)}`,
  );
}

function readUsed(quota: ResourceQuota): Usage {
  return parseAll(quota.status?.used);
}

function parseAll(texts: Readonly<Record<string, string>> | undefined): Usage {
  return Object.fromEntries(
    Object.entries(texts ?? {}).map(([name, text]) => [
      name,
      tryParseQuantity(text) ?? zeroQuantity,
    ]),
  );
}

function withUsed(quota: ResourceQuota, used: Usage): ResourceQuota {
  const texts = Object.entries(used).map(([name, amount]) => [name, formatQuantity(amount)]);
  return { ...quota, status: { ...quota.status, used: Object.fromEntries(texts) } };
}

function plus(a: Usage, b: Usage): Usage {
  return combine(a, b, addQuantities);
}

/** Never below zero, because the controller may already have recounted a charge. */
function minus(a: Usage, b: Usage): Usage {
  return combine(a, b, (left, right) => {
    const rest = subQuantities(left, right);
    return rest.nanos < 0n ? zeroQuantity : rest;
  });
}

function combine(a: Usage, b: Usage, f: (a: Quantity, b: Quantity) => Quantity): Usage {
  const result: Record<string, Quantity> = { ...a };
  for (const [name, amount] of Object.entries(b)) {
    const own = ownEntry(result, name);
    if (own !== undefined) result[name] = f(own, amount);
  }
  return result;
}

function sameUsage(a: Usage, b: Usage): boolean {
  const names = Object.keys(a);
  return names.every((name) => ownEntry(a, name)?.nanos === ownEntry(b, name)?.nanos);
}
