/**
 * Writes `status.nominatedNodeName` of a Pod whose bind waits for volumes or devices. Autoscalers see the Pod's future
 * node, and a scheduler that takes over keeps its room. After KEP-5278, gate NominatedNodeNameForExpectation.
 */
import type { Client } from "#client/client.ts";
import type { Log } from "#platform/log.ts";
import type { PodInfo } from "./pod-info.ts";

const pods = { group: "", version: "v1", resource: "pods" } as const;

/**
 * Writes the expected node into the Pod's status. Undefined `nodeName`: the Pod is not placed there. Never rejects:
 * the bind does not depend on it.
 */
export async function writeExpectedNode(
  { client, log }: { readonly client: Client; readonly log: Log },
  { name, namespace, pod, uid }: PodInfo,
  nodeName: string | undefined,
): Promise<void> {
  if (nodeName !== undefined && pod.status?.nominatedNodeName === nodeName) return;
  const patch = { metadata: { uid }, status: { nominatedNodeName: nodeName ?? null } };
  try {
    await client.patch(pods, namespace, name, "merge", patch, { subresource: "status" });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    log.debug("the expected node was not written", { pod: name, error: message });
  }
}
