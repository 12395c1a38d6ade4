/**
 * ControllerRevisions: the past and present templates of a StatefulSet or DaemonSet. A rollback restores one of them. A
 * label
 * of each pod names the pod's revision.
 */
import { exactInteger } from "#base/exact-json.ts";
import type { ControllerRevision, PodTemplateSpec } from "#api/gen/types.ts";
import { goJson } from "#api/go/go-json.ts";
import type { JsonObject, KubeObject, OwnerReference } from "#api/object.ts";
import { labelsMatch, type LabelSelector } from "#api/selectors/label-selector.ts";
import { given } from "#base/given.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import { isAlreadyExists } from "#client/api-errors.ts";
import type { Adopter } from "../ownership/adopt.ts";
import { claimCached } from "../ownership/cached.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { ignoreGone } from "../framework/api-errors.ts";
import { refs } from "../framework/refs.ts";
import { dataHash, templateHash } from "./template-hash.ts";
import { restoringPatch } from "./template-json.ts";

/** Label of pods: the name of their revision (StatefulSet) or its hash (DaemonSet). */
export const revisionHashLabel = "controller-revision-hash" as const;
/** Label of a StatefulSet's revisions: the hash in their name. */
export const hashLabel = "controller.kubernetes.io/hash" as const;

interface RevisionOwner extends KubeObject {
  readonly spec?: {
    readonly template?: PodTemplateSpec;
    readonly revisionHistoryLimit?: number;
  };
  readonly status?: { readonly collisionCount?: number };
}

interface RevisionDeps {
  readonly client: Client;
  readonly reference: OwnerReference;
  /** Label with the hash. Upstream's two controllers hash different data for it. */
  readonly hashLabel: typeof revisionHashLabel | typeof hashLabel;
  readonly onCollision: OnCollision;
}

export function templateOf(revision: ControllerRevision): PodTemplateSpec | undefined {
  const data = revision.data as {
    readonly spec?: { readonly template?: PodTemplateSpec & { $patch?: string } };
  };
  if (data?.spec?.template === undefined) return undefined;
  const { $patch: _directive, ...template } = data.spec.template;
  return template;
}

/** The owner's cached revisions, including matching orphans of an earlier owner. */
export function claimRevisions(
  informer: Informer<ControllerRevision>,
  adopter: Omit<Adopter<ControllerRevision>, "ref" | "matches">,
  selector: LabelSelector,
): Promise<readonly ControllerRevision[]> {
  const matches = (revision: ControllerRevision): boolean =>
    labelsMatch(selector, revision.metadata?.labels ?? {});
  return claimCached(informer, { ...adopter, ref: refs.controllerrevisions, matches });
}

function byRevision(a: ControllerRevision, b: ControllerRevision): number {
  if (a.revision !== b.revision) return a.revision < b.revision ? -1 : 1;
  return (a.metadata?.name ?? "") < (b.metadata?.name ?? "") ? -1 : 1;
}

/**
 * Decides what to do when a revision of another template already has the name.
 * @returns the next count to try. @throws to try later.
 */
type OnCollision = (collisions: number | undefined) => Promise<number> | number;

interface Ensured {
  readonly revision: ControllerRevision;
  /** Collision count that is part of the revision's name; stored in the owner's status. */
  readonly collisions: number | undefined;
}

/**
 * Returns the revision of the owner's current template: an existing one (made the newest), or a new one. `known`: the
 * owner's revisions in the cache.
 */
export async function ensureRevision(
  deps: RevisionDeps,
  owner: RevisionOwner,
  known: readonly ControllerRevision[],
): Promise<Ensured> {
  const template = owner.spec?.template ?? {};
  const collisions = owner.status?.collisionCount;
  const sorted = known.toSorted(byRevision);
  const newest = sorted.at(-1)?.revision ?? 0;
  const next = exactInteger(BigInt(newest) + 1n);
  const same = findSame(sorted, restoringPatch(template));
  if (same === undefined) return createRevision(deps, owner, template, next);
  if (same.revision === newest) return { revision: same, collisions };
  const { namespace = "" } = same.metadata ?? {};
  const ref = refs.controllerrevisions;
  const revision = await deps.client.update(ref, namespace, { ...same, revision: next });
  return { revision, collisions };
}

/**
 * Upstream compares bytes. If none matches, a revision that restores the same template is accepted: earlier versions
 * wrote the data in another form, and a new revision would restart the pods without need.
 */
function findSame(
  sorted: readonly ControllerRevision[],
  data: JsonObject,
): ControllerRevision | undefined {
  return (
    sorted.findLast((revision) => jsonEqual(revision.data, data)) ??
    sorted.findLast((revision) => {
      const template = templateOf(revision);
      return template !== undefined && jsonEqual(restoringPatch(template), data);
    })
  );
}

async function createRevision(
  deps: RevisionDeps,
  owner: RevisionOwner,
  template: PodTemplateSpec,
  revision: number | bigint,
): Promise<Ensured> {
  let collisions = owner.status?.collisionCount;
  const wanted = makeRevision(deps, owner, template, { revision, collisions });
  for (;;) {
    const { name = "" } = owner.metadata ?? {};
    // As upstream, the label keeps the first hash.
    const hash = hashOf(deps, template, collisions);
    const metadata = { ...wanted.metadata, name: revisionName(name, hash) };
    const created = await createOrFind(deps.client, { ...wanted, metadata });
    if (created !== undefined) return { revision: created, collisions };
    collisions = await deps.onCollision(collisions);
  }
}

function hashOf(
  { hashLabel: label }: RevisionDeps,
  template: PodTemplateSpec,
  collisions: number | undefined,
): string {
  return label === hashLabel
    ? dataHash(goJson(restoringPatch(template)), collisions ?? 0)
    : templateHash(template, collisions);
}

function makeRevision(
  deps: RevisionDeps,
  owner: RevisionOwner,
  template: PodTemplateSpec,
  counts: { readonly revision: number | bigint; readonly collisions: number | undefined },
): ControllerRevision {
  const { namespace = "", annotations } = owner.metadata ?? {};
  const hash = hashOf(deps, template, counts.collisions);
  return {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: {
      namespace,
      // kubectl finds revisions by the selector, which matches the template's labels.
      labels: { ...template.metadata?.labels, [deps.hashLabel]: hash },
      ...given({ annotations }),
      ownerReferences: [deps.reference],
    },
    data: restoringPatch(template),
    revision: counts.revision,
  };
}

/** @returns undefined when the name belongs to a revision of another template. */
async function createOrFind(
  client: Client,
  object: ControllerRevision,
): Promise<ControllerRevision | undefined> {
  const { name = "", namespace = "" } = object.metadata ?? {};
  const ref = refs.controllerrevisions;
  try {
    return await client.create(ref, namespace, object);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const existing = await client.get<ControllerRevision>(ref, namespace, name);
    return jsonEqual(existing.data, object.data) ? existing : undefined;
  }
}

/** Upstream's limit, which leaves room for any hash. */
const prefixMax = 223;

function revisionName(owner: string, hash: string): string {
  return `${owner.slice(0, prefixMax)}-${hash}`;
}

/** Deletes unused revisions beyond the history limit, oldest first. */
export async function trimRevisions(
  client: Client,
  owner: RevisionOwner,
  known: readonly ControllerRevision[],
  inUse: ReadonlySet<string>,
): Promise<void> {
  const idle = known
    .filter((revision) => !inUse.has(revision.metadata?.name ?? ""))
    .toSorted(byRevision);
  const excess = idle.length - (owner.spec?.revisionHistoryLimit ?? 10);
  for (const revision of idle.slice(0, Math.max(0, excess))) {
    const { namespace = "", name = "" } = revision.metadata ?? {};
    await client.delete(refs.controllerrevisions, namespace, name).catch(ignoreGone);
  }
}
