/** Ingresses and their classes. Texts as upstream's networking/validation. */
import type { FieldError } from "../status.ts";
import { subdomainErrors } from "../selectors/label-syntax.ts";
import { dnsLabelName, dnsSubdomainName, pathSegmentName } from "../names.ts";
import type { Fields } from "./fields.ts";
import {
  count,
  has,
  items,
  maybe,
  maybeText,
  number,
  part,
  text,
  textMap,
  texts,
} from "./fields.ts";
import {
  child,
  forbiddenField,
  index,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  tooLong,
  append,
} from "./errors.ts";
import { checkImmutable } from "./immutable.ts";
import { parseAddress } from "./ip.ts";
import { checkIngressPoint, ingressAddresses } from "./services.ts";
import {
  checkDomainPrefixedPath,
  portNameErrors,
  portNumberErrors,
  wildcardDomainErrors,
} from "./text.ts";

const classAnnotation = "kubernetes.io/ingress.class";
const controllerMax = 250;
const pathTypes = ["Exact", "ImplementationSpecific", "Prefix"];
const badSequences = ["//", "/./", "/../", "%2f", "%2F"];
const badSuffixes = ["/..", "/."];
const scopes = ["Cluster", "Namespace"];

export function validateIngress(ingress: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(ingress, "spec");
  checkIngressSpec(out, spec);
  const annotated = textMap(part(ingress, "metadata"), "annotations")[classAnnotation];
  const named = maybeText(spec, "ingressClassName");
  if (annotated !== undefined && named !== undefined && annotated !== named) {
    const detail = "must match `ingressClassName` when both are specified";
    out.push(invalidValue(`annotations.${classAnnotation}`, annotated, detail));
  }
  return out;
}

export function validateIngressUpdate(next: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkIngressSpec(out, part(next, "spec"));
  return out;
}

function checkIngressSpec(out: FieldError[], spec: Fields): void {
  const backend = maybe(spec, "defaultBackend");
  if (count(spec, "rules") === 0 && backend === undefined) {
    const detail = "either `defaultBackend` or `rules` must be specified";
    out.push(invalidValue("spec", spec["rules"] ?? null, detail));
  }
  if (backend !== undefined) checkBackend(out, backend, "spec.defaultBackend");
  items(spec, "rules").forEach((rule, at) => checkRule(out, rule, index("spec.rules", at)));
  checkTls(out, spec);
  const name = maybeText(spec, "ingressClassName");
  if (name === undefined) return;
  append(out, invalidEach("spec.ingressClassName", name, dnsSubdomainName(name, false)));
}

function checkRule(out: FieldError[], rule: Fields, path: string): void {
  const host = text(rule, "host");
  const at = child(path, "host");
  if (host !== "") {
    if (parseAddress(host) !== undefined) {
      out.push(invalidValue(at, host, "must be a DNS name, not an IP address"));
    }
    append(out, invalidEach(at, host, hostErrors(host)));
  }
  const http = maybe(rule, "http");
  if (http === undefined) return;
  const paths = child(path, "http", "paths");
  if (count(http, "paths") === 0) out.push(required(paths));
  items(http, "paths").forEach((each, i) => checkPath(out, each, index(paths, i)));
}

function hostErrors(host: string): readonly string[] {
  return host.includes("*") ? wildcardDomainErrors(host) : subdomainErrors(host);
}

function checkPath(out: FieldError[], rule: Fields, path: string): void {
  const type = maybeText(rule, "pathType");
  const at = child(path, "path");
  const value = text(rule, "path");
  if (type === undefined) {
    out.push(required(child(path, "pathType"), "pathType must be specified"));
    return;
  }
  if (!pathTypes.includes(type)) {
    out.push(notSupported(child(path, "pathType"), type, pathTypes));
  } else if (type === "ImplementationSpecific") {
    if (value !== "" && !value.startsWith("/")) {
      out.push(invalidValue(at, value, "must be an absolute path"));
    }
  } else checkStrictPath(out, value, at);
  checkBackend(out, part(rule, "backend"), child(path, "backend"));
}

function checkStrictPath(out: FieldError[], value: string, path: string): void {
  if (!value.startsWith("/")) out.push(invalidValue(path, value, "must be an absolute path"));
  for (const sequence of badSequences) {
    if (!value.includes(sequence)) continue;
    out.push(invalidValue(path, value, `must not contain '${sequence}'`));
  }
  for (const suffix of badSuffixes) {
    if (value.endsWith(suffix)) out.push(invalidValue(path, value, `cannot end with '${suffix}'`));
  }
}

function checkBackend(out: FieldError[], backend: Fields, path: string): void {
  const resource = maybe(backend, "resource");
  const service = maybe(backend, "service");
  if (resource !== undefined && service !== undefined) {
    out.push(invalidValue(path, "", "cannot set both resource and service backends"));
  } else if (resource !== undefined) {
    checkReference(out, resource, child(path, "resource"));
  } else if (service !== undefined) checkServiceBackend(out, service, path);
  else out.push(invalidValue(path, "", "resource or service backend is required"));
}

function checkServiceBackend(out: FieldError[], service: Fields, path: string): void {
  const name = text(service, "name");
  const at = child(path, "service", "name");
  if (name === "") out.push(required(at));
  else append(out, invalidEach(at, name, dnsLabelName(name, false)));
  const port = part(service, "port");
  const portName = text(port, "name");
  const value = number(port, "number");
  if (portName !== "" && value !== 0) {
    out.push(invalidValue(path, "", "cannot set both port name & port number"));
  } else if (portName !== "") {
    const here = child(path, "service", "port", "name");
    append(out, invalidEach(here, portName, portNameErrors(portName)));
  } else if (value !== 0) {
    const here = child(path, "service", "port", "number");
    append(out, invalidEach(here, value, portNumberErrors(value)));
  } else out.push(required(path, "port name or number is required"));
}

function checkReference(out: FieldError[], reference: Fields, path: string): void {
  const group = maybeText(reference, "apiGroup");
  if (group !== undefined) {
    append(out, invalidEach(child(path, "apiGroup"), group, subdomainErrors(group)));
  }
  for (const field of ["kind", "name"]) {
    const value = text(reference, field);
    const at = child(path, field);
    if (value === "") out.push(required(at));
    else append(out, invalidEach(at, value, pathSegmentName(value, false)));
  }
}

function checkTls(out: FieldError[], spec: Fields): void {
  items(spec, "tls").forEach((tls, at) => {
    const path = index("spec.tls", at);
    texts(tls, "hosts").forEach((host, i) => {
      append(out, invalidEach(index(child(path, "hosts"), i), host, hostErrors(host)));
    });
    const secret = text(tls, "secretName");
    if (secret === "") return;
    const errors = dnsSubdomainName(secret, false);
    append(out, invalidEach(child(path, "secretName"), secret, errors));
  });
}

export function validateIngressStatus(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  const kept = ingressAddresses(old);
  const path = "status.loadBalancer.ingress";
  items(part(part(next, "status"), "loadBalancer"), "ingress").forEach((entry, at) => {
    checkIngressPoint(out, entry, index(path, at), kept);
  });
  return out;
}

export function validateIngressClass(ingressClass: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(ingressClass, "spec");
  const controller = text(spec, "controller");
  const path = "spec.controller";
  if (controller === "") out.push(required(path));
  else {
    if (controller.length > controllerMax) out.push(tooLong(path, controllerMax));
    checkDomainPrefixedPath(out, controller, path);
  }
  const parameters = maybe(spec, "parameters");
  if (parameters !== undefined) checkParameters(out, parameters, "spec.parameters");
  return out;
}

function checkParameters(out: FieldError[], parameters: Fields, path: string): void {
  checkReference(out, parameters, path);
  const scope = maybeText(parameters, "scope");
  if (scope === undefined) {
    out.push(required(child(path, "scope")));
    return;
  }
  const at = child(path, "namespace");
  const given = has(parameters, "namespace");
  if (!scopes.includes(scope)) out.push(notSupported(child(path, "scope"), scope, scopes));
  else if (scope === "Cluster") {
    if (given) out.push(forbiddenField(at, "`parameters.scope` is set to 'Cluster'"));
  } else if (given) {
    const namespace = text(parameters, "namespace");
    append(out, invalidEach(at, namespace, dnsLabelName(namespace, false)));
  } else out.push(required(at, "`parameters.scope` is set to 'Namespace'"));
}

export function validateIngressClassUpdate(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  const at = { field: "controller", path: "spec", zero: "" };
  checkImmutable(out, part(next, "spec"), part(old, "spec"), at);
  append(out, validateIngressClass(next));
  return out;
}
