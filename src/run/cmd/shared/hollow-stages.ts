/** Hollow nodes with kwok's stages beside them: one service of stages over the watches of the nodes. */
import type { JsonObject } from "#api/object.ts";
import type { Client } from "#client/client.ts";
import { createHollowNodes, type Hollow } from "#hollow/hollow.ts";
import { hollowMark, kubeletPort } from "#hollow/node-object.ts";
import type { HollowOptions } from "#hollow/options.ts";
import { readDocuments, stagesOf } from "#stages/kwok-file.ts";
import type { Stage } from "#stages/stage.ts";
import { StageService } from "#stages/stage-service.ts";
import type { Host } from "./host.ts";
import { readOperatorFile } from "./operator-file.ts";
import { podRuleKinds, type PodRules, readPodRules } from "./pod-rules.ts";
import { productVersion } from "./product.ts";
import { UsageError } from "./usage-error.ts";

export interface StagePlan {
  readonly files: readonly Stage[];
  /** Stages of the API are played too. */
  readonly isServed: boolean;
  /** What else kwok's objects in the files say of pods. */
  readonly rules: PodRules;
}

const writesInFlightMax = 64;
const usersMax = 64;

/** Undefined: nothing was asked for. Throws UsageError. */
export function stagePlanOf(
  paths: readonly string[],
  enabledKinds: readonly string[],
): StagePlan | undefined {
  if (paths.length === 0 && enabledKinds.length === 0) return undefined;
  const objects = paths.flatMap(objectsOf);
  const { stages, problems } = stagesOf(objects);
  const rules = readPodRules(objects);
  const all = [...problems, ...rules.problems];
  if (all.length > 0) throw new UsageError(`${paths.join(", ")}: ${all.join("\n")}`);
  return { files: stages, isServed: enabledKinds.includes("Stage"), rules };
}

function objectsOf(path: string): readonly JsonObject[] {
  const { objects, problems } = readDocuments(readOperatorFile(path), ["Stage", ...podRuleKinds]);
  if (problems.length > 0) throw new UsageError(`${path}: ${problems.join("\n")}`);
  return objects;
}

/** Of a second group of nodes in a process: other kinds are played once. */
export function nodeStages(plan: StagePlan | undefined): StagePlan | undefined {
  if (plan === undefined) return undefined;
  const ofNodes = ({ target }: Stage): boolean =>
    target.apiVersion === "v1" && (target.kind === "Node" || target.kind === "Pod");
  return { ...plan, files: plan.files.filter(ofNodes) };
}

export interface HollowClients {
  readonly client: Client;
  /** A client that acts as another user. */
  readonly clientAs: (user: string) => Client;
}

/** `plan` absent: the nodes alone. */
export function stagedHollowNodes(
  host: Host,
  { client, clientAs }: HollowClients,
  options: HollowOptions,
  plan: StagePlan | undefined,
): Hollow {
  const deps = { ...host, client };
  if (plan === undefined) return createHollowNodes(deps, options);
  // The service asks the nodes only once they have brought it something.
  const stages = new StageService(
    { ...deps, clientAs: keptClients(clientAs) },
    {
      ...plan,
      version: `v${productVersion}`,
      writesInFlightMax,
      nodeSelector: `${hollowMark}=true`,
      host: {
        hasNode: (name) => hollow.hasNode(name),
        nodeAddress: (name) => hollow.nodeAddress(name),
        nodePort: options.kubelet?.port ?? kubeletPort,
        podAddress: (node, isHostNetwork, uid) => hollow.podAddress(node, isHostNetwork, uid),
      },
    },
  );
  const hollow: Hollow = createHollowNodes({ ...deps, staging: stages }, options);
  return {
    ...hollow,
    async run(signal) {
      await Promise.all([hollow.run(signal), stages.run(signal)]);
    },
  };
}

function keptClients(make: (user: string) => Client): (user: string) => Client {
  const kept = new Map<string, Client>();
  return (user) => {
    const known = kept.get(user) ?? make(user);
    if (kept.size < usersMax) kept.set(user, known);
    return known;
  };
}
