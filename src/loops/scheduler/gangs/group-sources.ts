/**
 * The PodGroups of both forms, watched from the moment a Pod names one, and only where their API is served.
 *
 *   a Pod names a group ──► discovery: is the form's API served? ─┬─ yes: an informer; the Pod is held until its group shows
 *                           (asked again, at most every second)   └─ no: the Pod is an ordinary one
 *
 * Holds  a form that no Pod names costs no request. A Pod is held while it is unknown whether its form is served.
 */
import type { PodGroup } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import type { InformerSet } from "#client/informer-set.ts";
import type { Informer } from "#client/informer.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import {
  type CoschedulingGroup,
  coschedulingSpec,
  type GroupForm,
  type GroupRef,
  groupRefTo,
  type GroupSpec,
  nativeSpec,
} from "./group-spec.ts";

export const groupRefs: Readonly<Record<GroupForm, ResourceRef>> = {
  native: { group: "scheduling.k8s.io", version: "v1alpha2", resource: "podgroups" },
  coscheduling: { group: "scheduling.x-k8s.io", version: "v1alpha1", resource: "podgroups" },
};

interface GroupSourcesDeps {
  readonly client: Client;
  readonly informers: InformerSet;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after the object of a group was created, changed or deleted. */
  readonly changed: (ref: GroupRef) => void;
  /** Called when it becomes known whether the form's API is served. */
  readonly learnt: (form: GroupForm) => void;
}

const askEveryMs = 1_000;

interface Source {
  served: boolean | "unknown";
  informer: Informer<KubeObject> | undefined;
  asking: boolean;
  /** The running or last check whether the API is served; never rejects. */
  asked: Promise<void> | undefined;
  askedMs: number;
  timer: Timer | undefined;
}

export class GroupSources {
  readonly #deps: GroupSourcesDeps;
  readonly #sources: Readonly<Record<GroupForm, Source>> = {
    native: newSource(),
    coscheduling: newSource(),
  };
  #closed = false;

  constructor(deps: GroupSourcesDeps) {
    this.#deps = deps;
  }

  isServed(form: GroupForm): boolean | "unknown" {
    return this.#sources[form].served;
  }

  specOf({ form, namespace, name }: GroupRef): GroupSpec | undefined {
    const object = this.#sources[form].informer?.get(namespace, name);
    if (object === undefined) return undefined;
    // The informer of a form watches the form's resource, so this is the object's type.
    if (form === "native") return nativeSpec(object as PodGroup);
    return coschedulingSpec(object as CoschedulingGroup);
  }

  /** Checks whether the form's API is served, because a Pod names a group that has not been seen. */
  ask(form: GroupForm): void {
    const source = this.#sources[form];
    if (source.asking || source.timer !== undefined || this.#closed) return;
    const { clock } = this.#deps;
    const waitMs = source.askedMs + askEveryMs - clock.monotonicMs();
    if (waitMs <= 0) {
      source.asked = this.#ask(form, source);
      return;
    }
    if (source.served === false) source.served = "unknown";
    source.timer = clock.after("scheduler.groups", waitMs, () => {
      source.timer = undefined;
      source.asked = this.#ask(form, source);
    });
  }

  /** Resolves when the groups of all Pods seen so far are known. */
  async known(): Promise<void> {
    for (const source of Object.values(this.#sources)) {
      await source.asked;
      await source.informer?.synced;
    }
  }

  close(): void {
    this.#closed = true;
    for (const { timer } of Object.values(this.#sources)) timer?.cancel();
  }

  /** Never rejects. */
  async #ask(form: GroupForm, source: Source): Promise<void> {
    source.asking = true;
    source.askedMs = this.#deps.clock.monotonicMs();
    if (source.served === false) source.served = "unknown";
    try {
      this.#learn(form, source, await this.#isListed(groupRefs[form]));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#deps.log.warn("it is not known whether pod groups are served", {
        form,
        error: message,
      });
    } finally {
      source.asking = false;
    }
    if (source.served === "unknown") this.ask(form);
  }

  async #isListed({ group, version, resource }: ResourceRef): Promise<boolean> {
    try {
      const answer = await this.#deps.client.raw(`/apis/${group}/${version}`);
      const { resources = [] } = answer as { readonly resources?: readonly { name?: string }[] };
      return resources.some(({ name }) => name === resource);
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  #learn(form: GroupForm, source: Source, served: boolean): void {
    if (this.#closed) return;
    const isNews = source.served !== served;
    source.served = served;
    if (served && source.informer === undefined) source.informer = this.#watch(form);
    if (!served && source.informer !== undefined) {
      source.informer = undefined;
      this.#deps.informers.release(groupRefs[form]);
    }
    if (isNews) this.#deps.learnt(form);
  }

  #watch(form: GroupForm): Informer<KubeObject> {
    const informer = this.#deps.informers.informer<KubeObject>(groupRefs[form]);
    const changed = (group: KubeObject): void => this.#deps.changed(groupRefTo(form, group));
    // The handler is called at once with the existing objects, and `specOf` must find the informer by then.
    this.#sources[form].informer = informer;
    informer.addHandler({
      add: changed,
      update: (old, group) => {
        if (old.metadata?.generation !== group.metadata?.generation || form === "coscheduling")
          changed(group);
      },
      delete: changed,
    });
    return informer;
  }
}

function newSource(): Source {
  const never = Number.NEGATIVE_INFINITY;
  return {
    served: "unknown",
    informer: undefined,
    asking: false,
    asked: undefined,
    askedMs: never,
    timer: undefined,
  };
}
