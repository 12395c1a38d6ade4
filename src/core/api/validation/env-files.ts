/** Environment variables from files (EnvFiles): a key of a file in a volume of type emptyDir. */
import { dns1123LabelErrors } from "../names.ts";
import type { FieldError } from "../status.ts";
import type { Fields } from "./fields.ts";
import { has, items, maybe, part, text } from "./fields.ts";
import {
  append,
  child,
  index,
  invalidEach,
  invalidValue,
  notFoundField,
  required,
} from "./errors.ts";
import { checkNoBacksteps, envNameErrors } from "./text.ts";

export function checkFileKey(out: FieldError[], reference: Fields, path: string): void {
  const at = (field: string): string => child(path, field);
  const entry = text(reference, "key");
  if (entry === "") out.push(required(at("key")));
  else append(out, invalidEach(at("key"), entry, envNameErrors(entry)));
  const volume = text(reference, "volumeName");
  if (volume === "") out.push(required(at("volumeName")));
  else append(out, invalidEach(at("volumeName"), volume, dns1123LabelErrors(volume)));
  const file = text(reference, "path");
  if (file === "") out.push(required(at("path")));
  else checkNoBacksteps(out, file, at("path"));
}

/** `path`: that of the pod's spec. */
export function checkFileKeyVolumes(out: FieldError[], spec: Fields, path: string): void {
  const volumes = new Map(items(spec, "volumes").map((one) => [text(one, "name"), one]));
  for (const list of ["initContainers", "containers", "ephemeralContainers"]) {
    items(spec, list).forEach((container, position) => {
      const here = index(child(path, list), position);
      items(container, "env").forEach((variable, at) => {
        const reference = maybe(part(variable, "valueFrom"), "fileKeyRef");
        if (reference === undefined) return;
        const field = child(index(child(here, "env"), at), "valueFrom", "fileKeyRef", "volumeName");
        checkVolume(out, volumes, text(reference, "volumeName"), field);
      });
    });
  }
}

function checkVolume(
  out: FieldError[],
  volumes: ReadonlyMap<string, Fields>,
  name: string,
  field: string,
): void {
  const volume = volumes.get(name);
  if (volume === undefined) out.push(notFoundField(field, name));
  else if (!has(volume, "emptyDir")) {
    out.push(invalidValue(field, name, "referenced volume must be of type emptyDir"));
  }
}
