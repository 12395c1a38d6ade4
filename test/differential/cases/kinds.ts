/** Every kind: made, read, listed, shown as a table, made wrongly, replaced, patched and deleted. */
import { get, patch, post, put, remove, type Case, type Step, type Suite } from "../exchange.ts";
import { samples, type Sample } from "./objects.ts";

const table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

function life({ path, body }: Sample): Case {
  const name = String(body.metadata["name"]);
  const one = `${path}/${name}`;
  const labelled = { ...body, metadata: { ...body.metadata, labels: { l: "{ns}" } } };
  const steps: Step[] = [
    get(`${path}/missing-{ns}`),
    get(`${path}?labelSelector=l%3D{ns}`),
    post(path, labelled),
    post(path, labelled),
    get(one, { save: { rv: "metadata.resourceVersion", uid: "metadata.uid" } }),
    get(`${path}?labelSelector=l%3D{ns}`),
    get(`${path}?labelSelector=l%3D{ns}`, { headers: { accept: table } }),
    get(one, { headers: { accept: table } }),
    get(one, { headers: { accept: "application/yaml" } }),
    patch("merge", one, { metadata: { annotations: { x: "y" } } }),
    patch("merge", one, { metadata: { annotations: { x: "y" } } }),
    put(one, { ...body, metadata: { ...body.metadata, resourceVersion: "{rv}" } }),
    put(one, { ...body, metadata: { name: "other", namespace: body.metadata["namespace"] } }),
    put(`${path}/missing-{ns}`, { ...body, metadata: { name: "missing-{ns}" } }),
    patch("strategic", `${path}/missing-{ns}`, {}),
    patch("apply", `${one}?fieldManager=ssa`, {
      apiVersion: body.apiVersion,
      kind: body.kind,
      metadata: { name, labels: { applied: "yes" } },
    }),
    get(`${one}/status`),
    get(`${one}/scale`),
    get(`${one}/nothing`),
    remove(`${path}/missing-{ns}`),
    remove(`${one}?dryRun=All`),
    remove(one),
    get(one),
  ];
  return { name: `${body.apiVersion} ${body.kind}`, steps };
}

function wrong({ path, body }: Sample): Case {
  const steps: Step[] = [
    post(path, { apiVersion: body.apiVersion, kind: body.kind, metadata: {} }),
    post(path, { apiVersion: body.apiVersion, kind: body.kind, metadata: { name: "Bad_Name" } }),
    post(path, {}),
    post(path, { ...body, kind: "Wrong" }),
    post(path, { ...body, apiVersion: "wrong/v1" }),
    post(`${path}?fieldValidation=Strict`, { ...body, unknown: 1 }),
    post(`${path}?fieldValidation=Ignore&dryRun=All`, { ...body, unknown: 1 }),
    post(`${path}?dryRun=All`, { ...body, unknown: 1 }),
    post(`${path}?dryRun=All`, { ...body, metadata: { generateName: "gen-" } }),
    post(`${path}?dryRun=All`, { ...body, spec: "text" }),
    post(`${path}?dryRun=All`, {
      ...body,
      metadata: {
        ...body.metadata,
        labels: { "bad key": "bad value!" },
        annotations: { "bad key": "x" },
      },
    }),
  ];
  return { name: `wrong ${body.apiVersion} ${body.kind}`, steps };
}

export const kinds: Suite = { name: "kinds", cases: samples.map(life) };
export const wrongKinds: Suite = { name: "wrong-kinds", cases: samples.map(wrong) };
