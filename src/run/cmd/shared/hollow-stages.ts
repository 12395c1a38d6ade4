/** Hollow nodes together with kwok's stages: one service of stages over the watches of the nodes. */
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
  /** Whether stages that are objects of the API run too. */
  readonly isServed: boolean;
  /** Rules for pods of kwok's other objects in the files. */
  readonly rules: PodRules;
}

const writesInFlightMax = 64;
const usersMax = 64;

/** Reads the files of stages. Undefined: no flag asks for stages. Throws UsageError. */
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

/** Returns the plan for a second group of nodes in a process, without the stages of other kinds, which run only once. */
export function nodeStages(plan: StagePlan | undefined): StagePlan | undefined {
  if (plan === undefined) return undefined;
  const ofNodes = ({ target }: Stage): boolean =>
    target.apiVersion === "v1" && (target.kind === "Node" || target.kind === "Pod");
  return { ...plan, files: plan.files.filter(ofNodes) };
}

export interface HollowClients {
  readonly client: Client;
  /** Returns a client that impersonates another user. */
  readonly clientAs: (user: string) => Client;
}

/** Creates hollow nodes with stages. `plan` undefined: only the nodes. */
export function stagedHollowNodes(
  host: Host,
  { client, clientAs }: HollowClients,
  options: HollowOptions,
  plan: StagePlan | undefined,
): Hollow {
  const deps = { ...host, client };
  if (plan === undefined) return createHollowNodes(deps, options);
  // The service calls the nodes only after they have passed it an object.
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
