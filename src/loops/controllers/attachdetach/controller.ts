/**
 * Attach and detach for CSI drivers: a VolumeAttachment per node and volume that pods of the node use,
 * which the driver's attacher carries out, and `status.volumesAttached`, which the kubelet waits for.
 *
 * Order  a volume leaves `volumesAttached` before its VolumeAttachment is deleted: the kubelet must not mount a volume
 *        that is about to be detached.
 * Keys   nodes; one reconcile handles all volumes of a node. An unwanted volume that is still in use is checked again
 *        later.
 */
import type {
  CSIDriver,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  VolumeAttachment,
} from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { asCsi } from "#api/volumes/csi-migration.ts";
import { isAlreadyExists } from "#client/api-errors.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import { keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { watch, type Source } from "#client/sources.ts";
import { ignoreGone } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { Expectations, unsatisfied } from "#client/expectations.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { claimsOf, indexByClaim, podsOfClaim } from "../protection/claims.ts";
import {
  attachmentName,
  forceDetachMs,
  needsVolumes,
  planNode,
  type NodePlan,
  type NodeView,
  type WantedVolume,
} from "./plan.ts";

export const attachDetachRole: ControllerRole = {
  account: "attachdetach-controller",
  rules: [
    "list,watch | core | persistentvolumeclaims,persistentvolumes",
    "read | core | nodes",
    "patch,update | core | nodes/status",
    "list,watch | core | pods",
    "events",
    "create,delete,get,list,watch | storage.k8s.io | volumeattachments",
    "read | storage.k8s.io | csidrivers",
    "read | storage.k8s.io | csinodes",
  ],
};

const nodeIndex = "controllers.attach-node";
const volumeIndex = "controllers.attach-volume";
const podNodeIndex = "controllers.attach-pod-node";

export class AttachDetachController implements ControllerOptions<Node> {
  readonly name = "persistentvolume-attach-detach-controller";
  readonly workers = 10;
  readonly ref = refs.nodes;
  readonly when = { changed: hasNews } as const;
  readonly sources: readonly Source[];
  readonly #deps: ControllerDeps;
  readonly #pods: Informer<Pod>;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #volumes: Informer<PersistentVolume>;
  readonly #drivers: Informer<CSIDriver>;
  readonly #attachments: Informer<VolumeAttachment>;
  readonly #expectations: Expectations<VolumeAttachment>;
  /** By attachment name: since when it has been unwanted. At most one entry per unwanted VolumeAttachment. */
  readonly #unwantedSince = new Map<string, number>();
  /** The last event about each attachment; dropped with the attachment's last pod. */
  readonly #said = new Map<string, string>();

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    const { informers, clock } = deps;
    this.#pods = informers.informer<Pod>(refs.pods);
    this.#claims = informers.informer<PersistentVolumeClaim>(refs.persistentvolumeclaims);
    this.#volumes = informers.informer<PersistentVolume>(refs.persistentvolumes);
    this.#drivers = informers.informer<CSIDriver>(refs.csidrivers);
    this.#attachments = informers.informer<VolumeAttachment>(refs.volumeattachments);
    this.#expectations = new Expectations(this.#attachments, clock);
    this.#addIndexes();
    this.sources = [
      watch(this.#pods, nodeOfClaims),
      watch(this.#claims, (claim) => this.#nodesOfClaim(keyOf(claim)), { on: ["add", "update"] }),
      watch(this.#attachments, (attachment) => this.#nodesOf(attachment)),
    ];
  }

  #addIndexes(): void {
    indexByClaim(this.#pods);
    this.#pods.addIndex(podNodeIndex, nodeOfClaims);
    this.#attachments.addIndex(nodeIndex, ({ spec }) => [spec.nodeName]);
    this.#attachments.addIndex(volumeIndex, ({ spec }) => [spec.source.persistentVolumeName ?? ""]);
  }

  #nodesOfClaim(claimKey: string): readonly string[] {
    return podsOfClaim(this.#pods, claimKey).flatMap(nodeOfClaims);
  }

  /** The attachment's node, and the nodes whose pods wait for its volume. */
  #nodesOf({ spec }: VolumeAttachment): readonly string[] {
    const { claimRef } = this.#volumes.get("", spec.source.persistentVolumeName ?? "")?.spec ?? {};
    const key = `${claimRef?.namespace ?? ""}/${claimRef?.name ?? ""}`;
    return [spec.nodeName, ...this.#nodesOfClaim(key)];
  }

  async reconcile({
    key: nodeName,
    object: node,
  }: ReconcileRequest<Node>): Promise<ReconcileResult> {
    if (!this.#expectations.isSatisfied(nodeName)) return unsatisfied;
    const view = this.#viewOf(nodeName, node);
    const plan = planNode(view);
    this.#remember(view, plan);
    for (const one of plan.blocked) this.#sayBlocked(nodeName, one);
    for (const one of view.wanted) this.#sayOutcome(view, one);
    await this.#report(view, plan.attached);
    for (const one of plan.attach) await this.#attach(nodeName, one);
    for (const one of plan.detach) await this.#detach(nodeName, one);
    return plan.waiting.length === 0 ? undefined : { requeueAfterMs: forceDetachMs / 6 };
  }

  #viewOf(nodeName: string, node: Node | undefined): NodeView {
    const all = this.#attachments.byIndex(nodeIndex, nodeName);
    return {
      nodeName,
      node,
      wanted: this.#wantedOn(nodeName, node),
      attachments: all.filter((one) => this.#isOwn(one)),
      nodesOf: (volumeName) =>
        this.#attachments
          .byIndex(volumeIndex, volumeName)
          .map(({ spec }) => spec.nodeName)
          .filter((other) => other !== nodeName),
      volume: (name) => this.#csiVolume(name),
      unwantedSinceMs: (name) => this.#unwantedSince.get(name),
      nowMs: this.#deps.clock.nowMs(),
    };
  }

  /** VolumeAttachments with other names belong to other controllers. */
  #isOwn({ metadata, spec }: VolumeAttachment): boolean {
    const csi = this.#csiVolume(spec.source.persistentVolumeName ?? "")?.spec?.csi;
    if (csi === undefined) return false;
    return metadata?.name === attachmentName(csi.volumeHandle, csi.driver, spec.nodeName);
  }

  #wantedOn(nodeName: string, node: Node | undefined): readonly WantedVolume[] {
    const wanted = new Map<string, { volume: PersistentVolume; pods: Pod[] }>();
    for (const pod of this.#pods.byIndex(podNodeIndex, nodeName)) {
      if (!needsVolumes(pod, node)) continue;
      for (const key of claimsOf(pod)) {
        const volume = this.#volumeOf(key);
        if (volume === undefined) continue;
        const name = volume.metadata?.name ?? "";
        const known = wanted.get(name);
        if (known === undefined) wanted.set(name, { volume, pods: [pod] });
        else known.pods.push(pod);
      }
    }
    return [...wanted.values()].flatMap(({ volume, pods }) => {
      const { csi } = volume.spec ?? {};
      if (csi === undefined) return [];
      return [{ volume, pods, driver: csi.driver, handle: csi.volumeHandle }];
    });
  }

  /** Volumes of in-tree plugins are attached by the CSI drivers that replaced them. */
  #csiVolume(name: string): PersistentVolume | undefined {
    const volume = this.#volumes.get("", name);
    return volume === undefined ? undefined : asCsi(volume);
  }

  /** The claim's volume when a driver must attach it. */
  #volumeOf(claimKey: string): PersistentVolume | undefined {
    const claim = this.#claims.getByKey(claimKey);
    if (claim === undefined || claim.status?.phase !== "Bound") return undefined;
    const volume = this.#csiVolume(claim.spec?.volumeName ?? "");
    if (volume?.spec?.claimRef?.uid !== claim.metadata?.uid) return undefined;
    const driver = volume?.spec?.csi?.driver;
    if (driver === undefined) return undefined;
    return this.#drivers.get("", driver)?.spec.attachRequired === false ? undefined : volume;
  }

  #remember({ nowMs, attachments }: NodeView, plan: NodePlan): void {
    const waiting = new Set(plan.waiting.map(({ metadata }) => metadata?.name ?? ""));
    for (const { metadata } of attachments) {
      const name = metadata?.name ?? "";
      if (!waiting.has(name)) this.#unwantedSince.delete(name);
      else if (!this.#unwantedSince.has(name)) this.#unwantedSince.set(name, nowMs);
    }
  }

  async #attach(nodeName: string, { volume, driver, handle }: WantedVolume): Promise<void> {
    const name = attachmentName(handle, driver, nodeName);
    const source = { persistentVolumeName: volume.metadata?.name ?? "" };
    const attachment: VolumeAttachment = {
      apiVersion: "storage.k8s.io/v1",
      kind: "VolumeAttachment",
      metadata: { name },
      spec: { attacher: driver, nodeName, source },
    };
    try {
      const made = await this.#deps.client.create(refs.volumeattachments, "", attachment);
      this.#expectations.expectWrite(nodeName, made);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }

  async #detach(nodeName: string, attachment: VolumeAttachment): Promise<void> {
    const { name = "", uid = "" } = attachment.metadata ?? {};
    this.#unwantedSince.delete(name);
    this.#said.delete(name);
    this.#expectations.expectDeletion(nodeName, attachment);
    try {
      const options = { preconditions: { uid } };
      await this.#deps.client.delete(refs.volumeattachments, "", name, options).catch(ignoreGone);
    } catch (error) {
      this.#expectations.cancelDeletion(nodeName, attachment);
      throw error;
    }
  }

  async #report({ node, nodeName }: NodeView, attached: readonly string[]): Promise<void> {
    if (node === undefined) return;
    const volumesAttached = attached.map((name) => ({ name, devicePath: "" }));
    const now = (node.status?.volumesAttached ?? []).map(({ name }) => name).toSorted();
    if (jsonEqual(now, attached)) return;
    const patch = { metadata: { uid: node.metadata?.uid }, status: { volumesAttached } };
    const options = { subresource: "status" };
    await this.#deps.client.patch(refs.nodes, "", nodeName, "merge", patch, options);
  }

  #sayBlocked(nodeName: string, { volume, driver, handle, pods }: WantedVolume): void {
    const text = `Multi-Attach error for volume "${volume.metadata?.name}" Volume is already exclusively attached to one node and can't be attached to another`;
    const name = attachmentName(handle, driver, nodeName);
    this.#say(name, pods, ["Warning", "FailedAttachVolume", text]);
  }

  #sayOutcome({ nodeName }: NodeView, { volume, driver, handle, pods }: WantedVolume): void {
    const name = attachmentName(handle, driver, nodeName);
    const status = this.#attachments.get("", name)?.status;
    const about = `for volume "${volume.metadata?.name}"`;
    if (status?.attached === true) {
      const text = `AttachVolume.Attach succeeded ${about} `;
      return this.#say(name, pods, ["Normal", "SuccessfulAttachVolume", text]);
    }
    const message = status?.attachError?.message;
    if (message === undefined) return;
    const text = `AttachVolume.Attach failed ${about} : ${message}`;
    this.#say(name, pods, ["Warning", "FailedAttachVolume", text]);
  }

  #say(
    name: string,
    pods: readonly Pod[],
    [type, reason, text]: readonly ["Normal" | "Warning", string, string],
  ): void {
    if (this.#said.get(name) === text) return;
    this.#said.set(name, text);
    for (const pod of pods) this.#deps.recorder.event(pod, type, reason, text);
  }
}

/** The pod's node when the pod has claims. */
function nodeOfClaims(pod: Pod): readonly string[] {
  const nodeName = pod.spec?.nodeName ?? "";
  return nodeName === "" || claimsOf(pod).length === 0 ? [] : [nodeName];
}

/** Whether anything relevant for attaching has changed; heartbeats do not count. */
function hasNews(old: Node, node: Node): boolean {
  const facts = ({ metadata, spec, status }: Node) => [
    metadata?.annotations ?? {},
    spec?.taints ?? [],
    status?.volumesInUse ?? [],
    status?.volumesAttached ?? [],
    (status?.conditions ?? []).map((one) => [one.type, one.status]),
  ];
  return !jsonEqual(facts(old), facts(node));
}
