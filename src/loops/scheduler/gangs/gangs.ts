/**
 * Tracks which Pods belong to which group, and which of them wait for the others.
 *
 * Holds  a Pod is in at most one gang, and is there either waiting or placed (or assumed). A gang without Pods is
 *        removed. `torn` are the gangs of which some Pods are placed, fewer than minCount, while others wait.
 * Cost   O(1) per Pod that is added, placed or removed; a group without Pods costs nothing here.
 */
import type { PodInfo } from "../pod-info.ts";
import type { GroupForm, GroupRef, GroupSpec } from "./group-spec.ts";
import { groupRefOf } from "./group-spec.ts";

export interface Gang {
  readonly ref: GroupRef;
  /** Spec of the group. Undefined: the group's object has not been seen. */
  spec: GroupSpec | undefined;
  /** By uid: Pods that need a node. */
  readonly waiting: Map<string, PodInfo>;
  readonly placed: Map<string, PodInfo>;
  /** Number of failed attempts since the group was last placed. */
  failures: number;
  /** Number of decisions in turns that changes of the cluster made outdated, since the last decision that held. */
  overtaken: number;
  /** Earliest time of the next attempt. */
  dueMs: number;
  /** Time of the first refusal since the last placement. Undefined: no refusal since then. */
  refusedMs: number | undefined;
}

interface GangDeps {
  readonly specOf: (ref: GroupRef) => GroupSpec | undefined;
  /** Whether the form's API is served. False: its Pods are ordinary Pods. "unknown": its Pods are held meanwhile. */
  readonly isServed: (form: GroupForm) => boolean | "unknown";
}

export class Gangs {
  readonly #deps: GangDeps;
  readonly #gangs = new Map<string, Gang>();
  readonly #byPod = new Map<string, Gang>();
  readonly #torn = new Set<Gang>();

  constructor(deps: GangDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#gangs.size;
  }

  values(): IterableIterator<Gang> {
    return this.#gangs.values();
  }

  torn(): ReadonlySet<Gang> {
    return this.#torn;
  }

  /** Returns the Pod's gang. Undefined: the Pod is scheduled on its own. */
  of(uid: string): Gang | undefined {
    const gang = this.#byPod.get(uid);
    return gang === undefined || this.#deps.isServed(gang.ref.form) === false ? undefined : gang;
  }

  at(key: string): Gang | undefined {
    return this.#gangs.get(key);
  }

  /** Records a Pod that needs a node or was taken off one. @returns its gang. */
  wait(info: PodInfo): Gang | undefined {
    const gang = this.#join(info);
    if (gang === undefined) return undefined;
    gang.placed.delete(info.uid);
    gang.waiting.set(info.uid, info);
    this.#judge(gang);
    return gang;
  }

  /** Records a Pod that is assumed or bound. @returns its gang. */
  place(info: PodInfo): Gang | undefined {
    const gang = this.#join(info);
    if (gang === undefined) return undefined;
    gang.waiting.delete(info.uid);
    gang.placed.set(info.uid, info);
    this.#judge(gang);
    return gang;
  }

  leave(uid: string): Gang | undefined {
    const gang = this.#byPod.get(uid);
    if (gang === undefined) return undefined;
    this.#byPod.delete(uid);
    gang.waiting.delete(uid);
    gang.placed.delete(uid);
    this.#judge(gang);
    if (gang.waiting.size + gang.placed.size === 0) this.#gangs.delete(gang.ref.key);
    return gang;
  }

  /** Applies a created, changed or deleted group object. @returns the group's gang, when it has Pods. */
  change(ref: GroupRef): Gang | undefined {
    const gang = this.#gangs.get(ref.key);
    if (gang === undefined) return undefined;
    gang.spec = this.#deps.specOf(ref);
    this.#judge(gang);
    return gang;
  }

  /** Returns why the Pods of the gang are held, in upstream's words. Undefined: they are not held. */
  heldBecause(gang: Gang): string | undefined {
    const { ref, spec, waiting, placed } = gang;
    if (spec === undefined) {
      return `waiting for pods's pod group "${ref.name}" to appear in scheduling queue`;
    }
    if (waiting.size + placed.size >= spec.minCount) return undefined;
    return "waiting for minCount pods from a gang to appear in scheduling queue";
  }

  isHeld(uid: string): boolean {
    const gang = this.of(uid);
    return gang !== undefined && this.heldBecause(gang) !== undefined;
  }

  #join(info: PodInfo): Gang | undefined {
    const ref = groupRefOf(info.pod);
    const known = this.#byPod.get(info.uid);
    if (known !== undefined && known.ref.key !== ref?.key) this.leave(info.uid);
    if (ref === undefined) return undefined;
    const gang = this.#gangs.get(ref.key) ?? this.#make(ref);
    this.#byPod.set(info.uid, gang);
    return gang;
  }

  #make(ref: GroupRef): Gang {
    const gang: Gang = {
      ref,
      spec: this.#deps.specOf(ref),
      waiting: new Map(),
      placed: new Map(),
      failures: 0,
      overtaken: 0,
      dueMs: 0,
      refusedMs: undefined,
    };
    this.#gangs.set(ref.key, gang);
    return gang;
  }

  #judge(gang: Gang): void {
    const { placed, spec, waiting } = gang;
    const isTorn = waiting.size > 0 && placed.size > 0 && placed.size < (spec?.minCount ?? 0);
    if (isTorn) this.#torn.add(gang);
    else this.#torn.delete(gang);
  }
}
