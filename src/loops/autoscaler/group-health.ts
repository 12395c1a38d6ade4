/**
 * How many nodes of a group are there, on their way, or promised and not come; and what to do about the last.
 *
 * Holds  target = registered + upcoming + lost, as far as the provider tells the truth; `upcoming` is what Pods may
 *        wait for. A group of which nodes were lost rests.
 */
import type { Node } from "#api/gen/types.ts";
import type { Action } from "./action.ts";
import { type Book, note } from "./book.ts";
import type { AutoscalerOptions } from "./options.ts";
import type { Group, Instance, Snapshot } from "./snapshot.ts";

export interface GroupHealth {
  readonly group: Group;
  readonly nodes: readonly Node[];
  readonly ready: number;
  readonly upcoming: number;
  /** Instances without a Node for too long, or with an error. */
  readonly lost: number;
}

export interface Health {
  readonly groups: readonly GroupHealth[];
  readonly groupOf: ReadonlyMap<string, GroupHealth>;
  readonly readyNodes: number;
  readonly unreadyNodes: number;
  readonly actions: readonly Action[];
}

export function lookAtGroups(snapshot: Snapshot, book: Book, options: AutoscalerOptions): Health {
  const { cluster, nowMs } = snapshot;
  const byId = new Map<string, Node>();
  const { nodes } = cluster.cache;
  let readyNodes = 0;
  for (let i = 0; i < nodes.size; i++) {
    const node = nodes.node(nodes.live[i] ?? 0);
    const { name = "" } = node.metadata ?? {};
    const isReady = isNodeReady(node);
    note(book.unreadySince, name, !isReady, nowMs);
    if (isReady) readyNodes++;
    byId.set(node.spec?.providerID ?? "", node);
  }
  const actions: Action[] = [];
  const groups = snapshot.groups.map((group) =>
    lookAtGroup(group, { byId, book, options, nowMs, actions }),
  );
  const groupOf = new Map<string, GroupHealth>();
  for (const health of groups) {
    for (const { metadata } of health.nodes) groupOf.set(metadata?.name ?? "", health);
  }
  return { groups, groupOf, readyNodes, unreadyNodes: nodes.size - readyNodes, actions };
}

interface Look {
  readonly byId: ReadonlyMap<string, Node>;
  readonly book: Book;
  readonly options: AutoscalerOptions;
  readonly nowMs: number;
  readonly actions: Action[];
}

function lookAtGroup(group: Group, look: Look): GroupHealth {
  const { byId, book, nowMs } = look;
  const nodes: Node[] = [];
  const unregistered: Instance[] = [];
  for (const instance of group.instances) {
    const node = byId.get(instance.id);
    const isUnregistered = node === undefined && instance.state !== "deleting";
    note(book.unregisteredSince, instance.id, isUnregistered, nowMs);
    if (node !== undefined) nodes.push(node);
    else if (isUnregistered) unregistered.push(instance);
  }
  const { maxNodeProvisionMs } = group.options;
  const isLate = ({ id }: Instance): boolean =>
    nowMs - (book.unregisteredSince.get(id) ?? nowMs) > maxNodeProvisionMs;
  const lost = unregistered.filter((one) => one.error !== undefined || isLate(one));
  const missing = Math.max(0, group.target - group.instances.length);
  const missingMs = note(book.missingSince, group.id, missing > 0, nowMs);
  const isMissing = missingMs !== undefined && nowMs - missingMs > maxNodeProvisionMs;
  const gone = lost.length + (isMissing ? missing : 0);
  if (gone === 0 && unregistered.length + missing === 0) book.complete(group.id);
  if (group.isOwn && gone > 0) giveUp(group, { lost, missing: isMissing ? missing : 0 }, look);
  const removing = nodes.filter(({ metadata }) => book.removing.has(metadata?.name ?? "")).length;
  return {
    group,
    nodes,
    ready: nodes.filter(isNodeReady).length - removing,
    upcoming: Math.max(0, unregistered.length + missing - gone),
    lost: gone,
  };
}

/** Gives up on lost or missing nodes. The target is not lowered below the minimum, which the provider maintains. */
function giveUp(
  group: Group,
  { lost, missing }: { readonly lost: readonly Instance[]; readonly missing: number },
  { book, nowMs, options, actions }: Look,
): void {
  const { id, target, min } = group;
  const error = lost.find((one) => one.error !== undefined)?.error;
  if (book.backoffOf(id, nowMs) === undefined) {
    const timedOut = { code: "timeout", message: "nodes did not register in time" };
    book.fail(id, error ?? timedOut, nowMs, options);
  }
  if (missing > 0) {
    const delta = -Math.min(missing, target - min);
    book.missingSince.delete(id);
    if (delta < 0) actions.push({ kind: "decrease", group: id, delta });
    return;
  }
  const ids = lost.slice(0, Math.max(0, target - min)).map((one) => one.id);
  if (ids.length > 0) actions.push({ kind: "delete-instances", group: id, ids });
}

export function isNodeReady({ status }: Node): boolean {
  return (
    status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true
  );
}
