/**
 * ServiceAccount: assigns an account of its namespace to every pod, and mounts the account's token in its containers.
 *
 * Waits up to two seconds for account `default`, which a controller creates shortly after the namespace.
 */
import type { Container, Pod, PodSpec, ServiceAccount, Volume } from "#api/gen/types.ts";
import type { Lister } from "#api/lister.ts";
import { generateName } from "#api/names.ts";
import type { AnyObject } from "#api/object.ts";
import { podReferences } from "#api/pods/pod-references.ts";
import type { Clock } from "#platform/clock.ts";
import { sleep } from "#platform/clock.ts";
import type { Random } from "#platform/random.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { isCore, isSubresource, forbiddenError, withSpec } from "./request.ts";

const defaultName = "default";
const waitsMax = 10;
const mirrorAnnotation = "kubernetes.io/config.mirror";
const enforceAnnotation = "kubernetes.io/enforce-mountable-secrets";
const volumePrefix = "kube-api-access-";
const mountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
/** An hour plus seven seconds: upstream's mark of automatically mounted tokens. */
const tokenSeconds = 3607;

interface ServiceAccountDeps {
  readonly lookup: Lister;
  readonly clock: Clock;
  readonly random: Random;
}

export function serviceAccount(deps: ServiceAccountDeps): AdmissionPlugin {
  return {
    name: "ServiceAccount",
    // Synchronous for other writes, because each promise would cost a turn of the microtask queue.
    mutate(request: AdmissionRequest): AnyObject | Promise<AnyObject> {
      const object = request.object ?? {};
      const isPod = isCore(request, "pods") && request.operation === "CREATE";
      return isPod ? mutatePod(deps, request, object) : object;
    },
    validate(request: AdmissionRequest): void {
      if (request.object === undefined) return;
      if (request.operation === "UPDATE") validateEphemeral(deps.lookup, request);
      else if (request.operation === "CREATE" && isCore(request, "pods")) validate(deps, request);
    },
  };
}

async function mutatePod(
  deps: ServiceAccountDeps,
  request: AdmissionRequest,
  object: AnyObject,
): Promise<AnyObject> {
  const next = isMirror(object) ? object : await runAs(deps, request, object);
  // Validated here as well, as upstream, so that this plugin's error precedes those of later ones.
  validate(deps, { ...request, object: next });
  return next;
}

function isMirror(object: AnyObject): boolean {
  return object.metadata?.annotations?.[mirrorAnnotation] !== undefined;
}

async function runAs(
  deps: ServiceAccountDeps,
  request: AdmissionRequest,
  object: AnyObject,
): Promise<AnyObject> {
  const spec = (object as Pod).spec ?? { containers: [] };
  const name = (spec.serviceAccountName ?? "") === "" ? defaultName : spec.serviceAccountName;
  const account = await findAccount(deps, request, name ?? defaultName);
  const mounts = spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true;
  const mounted = mounts ? mountToken(spec, deps.random) : {};
  const pullSecrets = account.imagePullSecrets ?? [];
  const inherits = (spec.imagePullSecrets ?? []).length === 0 && pullSecrets.length > 0;
  return withSpec(object, {
    ...mounted,
    serviceAccountName: name,
    serviceAccount: name,
    ...(inherits ? { imagePullSecrets: pullSecrets } : {}),
  });
}

async function findAccount(
  deps: ServiceAccountDeps,
  request: AdmissionRequest,
  name: string,
): Promise<ServiceAccount> {
  const never = new AbortController().signal;
  for (let waits = 0; ; waits++) {
    const account = getAccount(deps.lookup, request.namespace, name);
    if (account !== undefined) return account;
    if (name !== defaultName || waits === waitsMax) throw missingAccount(request, name);
    await sleep(deps.clock, "admission.wait", 100 + deps.random.below(100), never);
  }
}

function getAccount(lookup: Lister, namespace: string, name: string): ServiceAccount | undefined {
  return lookup.get({ group: "", resource: "serviceaccounts" }, namespace, name);
}

function missingAccount(request: AdmissionRequest, name: string) {
  const which = `${request.namespace}/${name}`;
  return forbiddenError(
    request,
    `error looking up service account ${which}: serviceaccount "${name}" not found`,
  );
}

/** Fields of the spec with the token mounted; empty when every container mounts something at its path. */
function mountToken(spec: PodSpec, random: Random): Partial<PodSpec> {
  const present = (spec.volumes ?? []).find((volume) => volume.name.startsWith(volumePrefix));
  const name = present?.name ?? generateName(volumePrefix, random);
  const mount = { name, readOnly: true, mountPath };
  const withMount = (container: Container): Container => {
    const mounts = container.volumeMounts ?? [];
    if (mounts.some((other) => other.mountPath === mountPath)) return container;
    return { ...container, volumeMounts: [...mounts, mount] };
  };
  // A spec without containers is refused by validation after admission.
  const before: readonly Container[] | undefined = spec.containers;
  const containers = (before ?? []).map(withMount);
  const initContainers = (spec.initContainers ?? []).map(withMount);
  const unchanged = (after: readonly Container[], before: readonly Container[] = []): boolean =>
    after.every((container, index) => container === before[index]);
  if (unchanged(containers, before) && unchanged(initContainers, spec.initContainers)) {
    return {};
  }
  return {
    containers,
    ...(spec.initContainers === undefined ? {} : { initContainers }),
    ...(present === undefined ? { volumes: [...(spec.volumes ?? []), tokenVolume(name)] } : {}),
  };
}

function tokenVolume(name: string): Volume {
  const namespaceField = { apiVersion: "v1", fieldPath: "metadata.namespace" };
  return {
    name,
    projected: {
      defaultMode: 0o644,
      sources: [
        { serviceAccountToken: { path: "token", expirationSeconds: tokenSeconds } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        { downwardAPI: { items: [{ path: "namespace", fieldRef: namespaceField }] } },
      ],
    },
  };
}

function validate(deps: ServiceAccountDeps, request: AdmissionRequest): void {
  const object = request.object ?? {};
  const spec = (object as Pod).spec ?? { containers: [] };
  const name = spec.serviceAccountName ?? "";
  if (isMirror(object)) {
    validateMirror(request, object);
    return;
  }
  if (name === "") throw noAccount(request);
  const account = getAccount(deps.lookup, request.namespace, name);
  if (account === undefined) throw missingAccount(request, name);
  if (!enforcesSecrets(account)) return;
  const fault = secretFault(account, spec);
  if (fault !== undefined) throw forbiddenError(request, fault);
}

function noAccount(request: AdmissionRequest) {
  const pod = `${request.namespace}/${request.object?.metadata?.name ?? ""}`;
  return forbiddenError(request, `no service account specified for pod ${pod}`);
}

/** A mirror pod represents what a node already runs and cannot use the API. */
function validateMirror(request: AdmissionRequest, object: AnyObject): void {
  const { secrets, serviceAccounts } = podReferences(object);
  if (serviceAccounts.length > 0) {
    throw forbiddenError(request, "a mirror pod may not reference service accounts");
  }
  if (secrets.length > 0) throw forbiddenError(request, "a mirror pod may not reference secrets");
  const volumes = (object as Pod).spec?.volumes ?? [];
  const sources = volumes.flatMap((volume) => volume.projected?.sources ?? []);
  if (sources.some((source) => source.serviceAccountToken !== undefined)) {
    throw forbiddenError(
      request,
      "a mirror pod may not use ServiceAccountToken volume projections",
    );
  }
}

function enforcesSecrets(account: ServiceAccount): boolean {
  const value = account.metadata?.annotations?.[enforceAnnotation] ?? "";
  return ["1", "t", "T", "true", "TRUE", "True"].includes(value);
}

interface NamedContainer {
  readonly title: string;
  readonly container: Pick<Container, "name" | "env" | "envFrom">;
}

function allContainers(spec: PodSpec): readonly NamedContainer[] {
  return [
    ...(spec.initContainers ?? []).map((container) => ({ title: "init container", container })),
    ...spec.containers.map((container) => ({ title: "container", container })),
  ];
}

/** [secret, text of the reference]. */
function envSecrets(
  container: NamedContainer["container"],
): readonly (readonly [string, string])[] {
  const single = (container.env ?? []).flatMap((entry) => {
    const name = entry.valueFrom?.secretKeyRef?.name;
    return name === undefined ? [] : [[name, `envVar ${entry.name}`] as const];
  });
  const whole = (container.envFrom ?? []).flatMap((entry) => {
    const name = entry.secretRef?.name;
    return name === undefined ? [] : [[name, "envFrom"] as const];
  });
  return [...single, ...whole];
}

/** Why the account does not allow the pod its secrets; undefined: it does. */
function secretFault(account: ServiceAccount, spec: PodSpec): string | undefined {
  const mountable = new Set((account.secrets ?? []).map((secret) => secret.name));
  const owner = account.metadata?.name ?? "";
  const denied = `is not allowed because service account ${owner} does not reference that secret`;
  for (const volume of spec.volumes ?? []) {
    const name = volume.secret?.secretName;
    if (volume.secret === undefined || mountable.has(name)) continue;
    return `volume with secret.secretName="${name ?? ""}" ${denied}`;
  }
  const inEnv = envFault(allContainers(spec), mountable, denied);
  if (inEnv !== undefined) return inEnv;
  const pullable = new Set((account.imagePullSecrets ?? []).map((secret) => secret.name));
  for (const [index, { name }] of (spec.imagePullSecrets ?? []).entries()) {
    if (pullable.has(name)) continue;
    return `imagePullSecrets[${index}].name="${name ?? ""}" is not allowed because service account ${owner} does not reference that imagePullSecret`;
  }
  return undefined;
}

function envFault(
  containers: readonly NamedContainer[],
  mountable: ReadonlySet<string | undefined>,
  denied: string,
): string | undefined {
  for (const { title, container } of containers) {
    for (const [name, how] of envSecrets(container)) {
      if (mountable.has(name)) continue;
      return `${title} ${container.name} with ${how} referencing secret.secretName="${name}" ${denied}`;
    }
  }
  return undefined;
}

function validateEphemeral(lookup: Lister, request: AdmissionRequest): void {
  if (!isSubresource(request, "", "pods", "ephemeralcontainers")) return;
  const spec = (request.object as Pod).spec ?? { containers: [] };
  const name = spec.serviceAccountName ?? "";
  if (name === "") throw noAccount(request);
  const account = getAccount(lookup, request.namespace, name);
  if (account === undefined) throw missingAccount(request, name);
  if (!enforcesSecrets(account)) return;
  const mountable = new Set((account.secrets ?? []).map((secret) => secret.name));
  const denied = `is not allowed because service account ${name} does not reference that secret`;
  const ephemeral = (spec.ephemeralContainers ?? []).map((container) => ({
    title: "ephemeral container",
    container,
  }));
  const fault = envFault(ephemeral, mountable, denied);
  if (fault !== undefined) throw forbiddenError(request, fault);
}
