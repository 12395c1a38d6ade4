/** AlwaysPullImages: every pod checks its right to an image with the registry, even if the node has the image. */
import { given } from "#base/given.ts";
import type { AnyObject } from "#api/object.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { forbiddenError, isCore, withSpec } from "./request.ts";

interface Container {
  readonly image?: string;
  readonly imagePullPolicy?: string;
}

interface Volume {
  readonly image?: { readonly pullPolicy?: string };
}

interface PodSpec {
  readonly initContainers?: readonly Container[];
  readonly containers?: readonly Container[];
  readonly ephemeralContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
}

const lists = ["initContainers", "containers", "ephemeralContainers"] as const;

export const alwaysPullImages: AdmissionPlugin = {
  name: "AlwaysPullImages",
  mutate(request) {
    const object = request.object ?? {};
    const faults = isConcerned(request) ? listFaults(specOf(object)) : [];
    return faults.length === 0 ? object : withSpec(object, pulledAlways(specOf(object)));
  },
  validate(request) {
    if (!isConcerned(request)) return;
    const faults = listFaults(specOf(request.object));
    if (faults.length === 0) return;
    const texts = faults.map((fault) => forbiddenError(request, fault).message);
    // As upstream, which aggregates the errors into a plain one.
    throw new Error(texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`);
  },
};

function isConcerned(request: AdmissionRequest): boolean {
  const { operation, object, oldObject } = request;
  if (!isCore(request, "pods") || object === undefined) return false;
  if (operation === "CREATE") return true;
  if (operation !== "UPDATE") return false;
  const old = new Set(containersOf(specOf(oldObject)).map(({ image }) => image));
  return containersOf(specOf(object)).some(({ image }) => !old.has(image));
}

function specOf(pod: AnyObject | undefined): PodSpec {
  return (pod?.["spec"] ?? {}) as PodSpec; // checked against the schema
}

function containersOf(spec: PodSpec): readonly Container[] {
  return lists.flatMap((list) => spec[list] ?? []);
}

function pulledAlways(spec: PodSpec): PodSpec {
  const changed = lists.flatMap((list) => {
    const containers = spec[list];
    if (containers === undefined) return [];
    return [[list, containers.map((one) => ({ ...one, imagePullPolicy: "Always" }))] as const];
  });
  const volumes = spec.volumes?.map((volume) =>
    volume.image === undefined
      ? volume
      : { ...volume, image: { ...volume.image, pullPolicy: "Always" } },
  );
  return { ...Object.fromEntries(changed), ...given({ volumes }) };
}

function listFaults(spec: PodSpec): readonly string[] {
  const text = (path: string, given: string | undefined): readonly string[] =>
    given === "Always"
      ? []
      : [`${path}: Unsupported value: ${JSON.stringify(given ?? "")}: supported values: "Always"`];
  const containers = lists.flatMap((list) =>
    (spec[list] ?? []).flatMap(({ imagePullPolicy }, at) =>
      text(`spec.${list}[${at}].imagePullPolicy`, imagePullPolicy),
    ),
  );
  const volumes = (spec.volumes ?? []).flatMap(({ image }, at) =>
    image === undefined ? [] : text(`spec.volumes[${at}].image.pullPolicy`, image.pullPolicy),
  );
  return [...containers, ...volumes];
}
