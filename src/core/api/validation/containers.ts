/** A single container: ports, environment, mounts, image; common to regular, init and ephemeral containers. */
import type { FieldError } from "../status.ts";
import { dns1123LabelErrors, dnsSubdomainName } from "../names.ts";
import type { Fields } from "./fields.ts";
import { flag, has, items, maybe, maybeText, number, part, text } from "./fields.ts";
import {
  child,
  duplicate,
  forbiddenField,
  index,
  invalidEach,
  invalidValue,
  notFoundField,
  notSupported,
  required,
  append,
} from "./errors.ts";
import { checkFileKey } from "./env-files.ts";
import { checkContainerFieldRef, checkDownwardFieldRef } from "./downward.ts";
import { checkContainerResources } from "./resources.ts";
import { checkSecurityContext } from "./security.ts";
import {
  checkNoBacksteps,
  checkRelativePath,
  configKeyErrors,
  envNameErrors,
  portNameErrors,
  portNumberErrors,
} from "./text.ts";
import { checkPullPolicy } from "./volumes.ts";

export const protocols = ["SCTP", "TCP", "UDP"];
const messagePolicies = ["File", "FallbackToLogsOnError"];

/** The pod's properties that the checks of a container need. */
export interface ContainerContext {
  readonly volumes: ReadonlyMap<string, Fields>;
  readonly claims: ReadonlySet<string>;
  readonly restartPolicy: string;
  /** Absent or true: the pod shares the host's user namespace. */
  readonly hostUsers: boolean;
  readonly gracePeriod: number | undefined;
}

export function checkContainer(
  out: FieldError[],
  container: Fields,
  context: ContainerContext,
  path: string,
): void {
  const name = text(container, "name");
  if (name === "") out.push(required(child(path, "name")));
  else append(out, invalidEach(child(path, "name"), name, dns1123LabelErrors(name)));
  if (text(container, "image") === "") out.push(required(child(path, "image")));
  checkMessagePolicy(out, container, path);
  checkPorts(out, container, child(path, "ports"));
  checkEnv(out, container, child(path, "env"));
  checkEnvFrom(out, container, child(path, "envFrom"));
  checkMounts(out, container, context, child(path, "volumeMounts"));
  checkDevices(out, container, context, child(path, "volumeDevices"));
  checkPullPolicy(out, text(container, "imagePullPolicy"), child(path, "imagePullPolicy"));
  const resources = part(container, "resources");
  checkContainerResources(out, resources, context.claims, child(path, "resources"));
  checkResizePolicy(out, container, context, child(path, "resizePolicy"));
  checkSecurityContext(
    out,
    maybe(container, "securityContext"),
    context.hostUsers,
    child(path, "securityContext"),
  );
}

function checkMessagePolicy(out: FieldError[], container: Fields, path: string): void {
  const policy = text(container, "terminationMessagePolicy");
  const at = child(path, "terminationMessagePolicy");
  if (policy === "") out.push(required(at));
  else if (!messagePolicies.includes(policy)) out.push(notSupported(at, policy, messagePolicies));
}

function checkPorts(out: FieldError[], container: Fields, path: string): void {
  const names = new Set<string>();
  items(container, "ports").forEach((port, at) => {
    const here = index(path, at);
    const name = text(port, "name");
    if (name !== "") {
      const errors = portNameErrors(name);
      append(out, invalidEach(child(here, "name"), name, errors));
      if (errors.length === 0 && names.has(name)) out.push(duplicate(child(here, "name"), name));
      names.add(name);
    }
    const inside = number(port, "containerPort");
    const at1 = child(here, "containerPort");
    if (inside === 0) out.push(required(at1));
    else append(out, invalidEach(at1, inside, portNumberErrors(inside)));
    const outside = number(port, "hostPort");
    if (outside !== 0) {
      append(out, invalidEach(child(here, "hostPort"), outside, portNumberErrors(outside)));
    }
    checkProtocol(out, text(port, "protocol"), child(here, "protocol"));
  });
}

function checkProtocol(out: FieldError[], protocol: string, path: string): void {
  if (protocol === "") out.push(required(path));
  else if (!protocols.includes(protocol)) out.push(notSupported(path, protocol, protocols));
}

function checkEnv(out: FieldError[], container: Fields, path: string): void {
  items(container, "env").forEach((variable, at) => {
    const here = index(path, at);
    const name = text(variable, "name");
    if (name === "") out.push(required(child(here, "name")));
    else append(out, invalidEach(child(here, "name"), name, envNameErrors(name)));
    const source = maybe(variable, "valueFrom");
    if (source !== undefined) checkValueFrom(out, variable, source, child(here, "valueFrom"));
  });
}

function checkValueFrom(out: FieldError[], variable: Fields, source: Fields, path: string): void {
  let sources = 0;
  const on = (name: string, check: (reference: Fields, at: string) => void): void => {
    const reference = maybe(source, name);
    if (reference === undefined) return;
    sources += 1;
    check(reference, child(path, name));
  };
  on("fieldRef", (reference, at) => checkDownwardFieldRef(out, reference, "env", at));
  on("resourceFieldRef", (reference, at) => checkContainerFieldRef(out, reference, "env", at));
  on("configMapKeyRef", (reference, at) => checkKeySelector(out, reference, at));
  on("secretKeyRef", (reference, at) => checkKeySelector(out, reference, at));
  on("fileKeyRef", (reference, at) => checkFileKey(out, reference, at));
  if (sources === 0) {
    const detail =
      "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
    out.push(invalidValue(path, "", detail));
  } else if (text(variable, "value") !== "") {
    out.push(invalidValue(path, "", "may not be specified when `value` is not empty"));
  } else if (sources > 1) {
    out.push(invalidValue(path, "", "may not have more than one field specified at a time"));
  }
}

function checkKeySelector(out: FieldError[], reference: Fields, path: string): void {
  const name = text(reference, "name");
  append(out, invalidEach(child(path, "name"), name, dnsSubdomainName(name, false)));
  const entry = text(reference, "key");
  if (entry === "") out.push(required(child(path, "key")));
  else append(out, invalidEach(child(path, "key"), entry, configKeyErrors(entry)));
}

function checkEnvFrom(out: FieldError[], container: Fields, path: string): void {
  items(container, "envFrom").forEach((source, at) => {
    const here = index(path, at);
    const prefix = text(source, "prefix");
    if (prefix !== "") {
      append(out, invalidEach(child(here, "prefix"), prefix, envNameErrors(prefix)));
    }
    const kinds = ["configMapRef", "secretRef"].filter((kind) => has(source, kind));
    for (const kind of kinds) {
      const name = text(part(source, kind), "name");
      const at1 = child(here, kind, "name");
      if (name === "") out.push(required(at1));
      else append(out, invalidEach(at1, name, dnsSubdomainName(name, true)));
    }
    if (kinds.length === 0) {
      out.push(invalidValue(path, "", "must specify one of: `configMapRef` or `secretRef`"));
    } else if (kinds.length > 1) {
      out.push(invalidValue(path, "", "may not have more than one field specified at a time"));
    }
  });
}

function checkMounts(
  out: FieldError[],
  container: Fields,
  context: ContainerContext,
  path: string,
): void {
  const devices = items(container, "volumeDevices");
  const deviceNames = new Set(devices.map((device) => text(device, "name")));
  const devicePaths = new Set(devices.map((device) => text(device, "devicePath")));
  const points = new Set<string>();
  items(container, "volumeMounts").forEach((mount, at) => {
    const here = index(path, at);
    const name = text(mount, "name");
    const point = text(mount, "mountPath");
    if (name === "") out.push(required(child(here, "name")));
    const volume = context.volumes.get(name);
    if (volume === undefined) out.push(notFoundField(child(here, "name"), name));
    if (point === "") out.push(required(child(here, "mountPath")));
    if (points.has(point)) {
      out.push(invalidValue(child(here, "mountPath"), point, "must be unique"));
    }
    points.add(point);
    if (deviceNames.has(name)) {
      out.push(invalidValue(child(here, "name"), name, "must not already exist in volumeDevices"));
    }
    if (devicePaths.has(point)) {
      const detail = "must not already exist as a path in volumeDevices";
      out.push(invalidValue(child(here, "mountPath"), point, detail));
    }
    checkSubPaths(out, mount, volume, { here, path });
    checkPropagation(out, mount, container, path);
  });
}

function checkSubPaths(
  out: FieldError[],
  mount: Fields,
  volume: Fields | undefined,
  at: { readonly here: string; readonly path: string },
): void {
  const plain = text(mount, "subPath");
  const expression = text(mount, "subPathExpr");
  if (plain !== "") checkRelativePath(out, plain, child(at.path, "subPath"));
  if (expression === "") return;
  if (plain !== "") {
    const detail = "subPathExpr and subPath are mutually exclusive";
    out.push(invalidValue(child(at.here, "subPathExpr"), expression, detail));
  }
  checkRelativePath(out, expression, child(at.path, "subPathExpr"));
  if (volume !== undefined && has(volume, "image")) {
    const detail = "not allowed in image volume sources";
    out.push(invalidValue(child(at.here, "subPathExpr"), expression, detail));
  }
}

const propagations = ["Bidirectional", "HostToContainer", "None"];
const recursions = ["Disabled", "Enabled", "IfPossible"];

function checkPropagation(out: FieldError[], mount: Fields, container: Fields, path: string): void {
  const propagation = maybeText(mount, "mountPropagation");
  const at = child(path, "mountPropagation");
  if (propagation !== undefined) {
    if (!propagations.includes(propagation)) {
      out.push(notSupported(at, propagation, propagations));
    }
    if (
      propagation === "Bidirectional" &&
      !flag(part(container, "securityContext"), "privileged")
    ) {
      const detail = "Bidirectional mount propagation is available only to privileged containers";
      out.push(forbiddenField(at, detail));
    }
  }
  const recursive = maybeText(mount, "recursiveReadOnly");
  if (recursive === undefined || recursive === "Disabled") return;
  const at1 = child(path, "recursiveReadOnly");
  if (!recursions.includes(recursive)) out.push(notSupported(at1, recursive, recursions));
  else {
    if (!flag(mount, "readOnly")) {
      out.push(forbiddenField(at1, "may only be specified when readOnly is true"));
    }
    if (propagation !== undefined && propagation !== "None") {
      const detail = "may only be specified when mountPropagation is None or not specified";
      out.push(forbiddenField(at1, detail));
    }
  }
}

function checkDevices(
  out: FieldError[],
  container: Fields,
  context: ContainerContext,
  path: string,
): void {
  const mounts = items(container, "volumeMounts");
  const mountNames = new Set(mounts.map((mount) => text(mount, "name")));
  const mountPaths = new Set(mounts.map((mount) => text(mount, "mountPath")));
  const names = new Set<string>();
  const paths = new Set<string>();
  items(container, "volumeDevices").forEach((device, at) => {
    const here = index(path, at);
    const name = text(device, "name");
    const point = text(device, "devicePath");
    const volume = context.volumes.get(name);
    if (name === "") out.push(required(child(here, "name")));
    if (names.has(name)) out.push(invalidValue(child(here, "name"), name, "must be unique"));
    if (volume === undefined) out.push(notFoundField(child(here, "name"), name));
    else if (!has(volume, "persistentVolumeClaim") && !has(volume, "ephemeral")) {
      const detail =
        "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
      out.push(invalidValue(child(here, "name"), name, detail));
    }
    if (point === "") out.push(required(child(here, "devicePath")));
    if (paths.has(point)) {
      out.push(invalidValue(child(here, "devicePath"), point, "must be unique"));
    }
    checkNoBacksteps(out, point, child(here, "devicePath"));
    if (mountNames.has(name)) {
      const detail = "must not already exist in volumeMounts";
      out.push(invalidValue(child(here, "name"), name, detail));
    }
    if (mountPaths.has(point)) {
      const detail = "must not already exist as a path in volumeMounts";
      out.push(invalidValue(child(here, "devicePath"), point, detail));
    }
    names.add(name);
    paths.add(point);
  });
}

const resizable = ["cpu", "memory"];
const resizePolicies = ["NotRequired", "RestartContainer"];

function checkResizePolicy(
  out: FieldError[],
  container: Fields,
  context: ContainerContext,
  path: string,
): void {
  const seen = new Set<string>();
  items(container, "resizePolicy").forEach((policy, at) => {
    const name = text(policy, "resourceName");
    const restart = text(policy, "restartPolicy");
    if (seen.has(name)) out.push(duplicate(index(path, at), name));
    seen.add(name);
    if (name === "") out.push(required(path));
    else if (!resizable.includes(name)) out.push(notSupported(path, name, resizable));
    if (restart === "") out.push(required(path));
    else if (!resizePolicies.includes(restart)) {
      out.push(notSupported(path, restart, resizePolicies));
    }
    if (context.restartPolicy === "Never" && restart !== "NotRequired") {
      const detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
      out.push(invalidValue(path, restart, detail));
    }
  });
}
