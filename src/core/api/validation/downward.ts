/** References of the downward API: to fields of the pod, to resources of its containers. */
import { tryParseQuantity, formatQuantity } from "../values/quantity.ts";
import type { FieldError } from "../status.ts";
import { qualifiedNameErrors } from "../selectors/label-syntax.ts";
import type { Fields } from "./fields.ts";
import { text } from "./fields.ts";
import { child, invalidEach, invalidValue, notSupported, required, append } from "./errors.ts";

const volumePaths = [
  "metadata.annotations",
  "metadata.labels",
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
];
const envPaths = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];
const knownPaths = new Set([...volumePaths, ...envPaths, "spec.restartPolicy", "spec.host"]);
const resourcePaths = [
  "limits.cpu",
  "limits.ephemeral-storage",
  "limits.memory",
  "requests.cpu",
  "requests.ephemeral-storage",
  "requests.memory",
];
const byteDivisors = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";

export function checkDownwardFieldRef(
  out: FieldError[],
  reference: Fields,
  use: "env" | "volume",
  path: string,
): void {
  if (text(reference, "apiVersion") === "") {
    out.push(required(child(path, "apiVersion")));
    return;
  }
  const fieldPath = text(reference, "fieldPath");
  const at = child(path, "fieldPath");
  if (fieldPath === "") {
    out.push(required(at));
    return;
  }
  const subscript = /^(.*?)\['(.*)'\]$/s.exec(fieldPath);
  if (subscript !== null) {
    checkSubscript(out, subscript[1] ?? "", subscript[2] ?? "", { path, fieldPath, at });
    return;
  }
  if (!knownPaths.has(fieldPath)) {
    const detail = `error converting fieldPath: field label not supported: ${fieldPath}`;
    out.push(invalidValue(at, fieldPath, detail));
    return;
  }
  const supported = use === "env" ? envPaths : volumePaths;
  if (!supported.includes(fieldPath)) out.push(notSupported(at, fieldPath, supported));
}

function checkSubscript(
  out: FieldError[],
  base: string,
  name: string,
  at: { readonly path: string; readonly fieldPath: string; readonly at: string },
): void {
  if (base === "metadata.annotations") {
    const lower = name.toLowerCase();
    append(out, invalidEach(at.path, lower, qualifiedNameErrors(lower)));
  } else if (base === "metadata.labels") {
    append(out, invalidEach(at.path, name, qualifiedNameErrors(name)));
  } else if (knownPaths.has(base)) {
    out.push(invalidValue(at.path, base, "does not support subscript"));
  } else {
    const detail = `error converting fieldPath: field label does not support subscript: ${at.fieldPath}`;
    out.push(invalidValue(at.at, at.fieldPath, detail));
  }
}

export function checkContainerFieldRef(
  out: FieldError[],
  reference: Fields,
  use: "env" | "volume",
  path: string,
): void {
  const resource = text(reference, "resource");
  if (use === "volume" && text(reference, "containerName") === "") {
    out.push(required(child(path, "containerName")));
  } else if (resource === "") out.push(required(child(path, "resource")));
  else if (!resourcePaths.includes(resource) && !/^(requests|limits)\.hugepages-/.test(resource)) {
    out.push(notSupported(child(path, "resource"), resource, resourcePaths));
  }
  checkDivisor(out, resource, reference["divisor"], child(path, "divisor"));
}

function checkDivisor(out: FieldError[], resource: string, divisor: unknown, path: string): void {
  if (typeof divisor !== "string" && typeof divisor !== "number") return;
  const quantity = tryParseQuantity(divisor);
  if (quantity === undefined || quantity.nanos === 0n) return;
  const printed = formatQuantity(quantity);
  const kind = resource.slice(resource.indexOf(".") + 1);
  if (kind === "cpu") {
    if (printed === "1m" || printed === "1") return;
    const detail = "only divisor's values 1m and 1 are supported with the cpu resource";
    out.push(invalidValue(path, resource, detail));
    return;
  }
  if (/^1([kMGTPE]|[KMGTPE]i)?$/.test(printed)) return;
  let name = `the ${kind} resource`;
  if (kind === "ephemeral-storage") name = "the local ephemeral storage resource";
  else if (kind.startsWith("hugepages-")) name = "the hugepages resource";
  const detail = `only divisor's values ${byteDivisors} are supported with ${name}`;
  out.push(invalidValue(path, resource, detail));
}
