/** Manifests that earn warnings, as stock warns: those of the unit tests, and deletions. */
import { warnedManifests } from "#api/validation/testing/warning-rows.ts";
import { builtinResources } from "#api/schema/resources.ts";
import { parse } from "yaml";
import { patch, post, put, remove, type Case, type Step, type Suite } from "../exchange.ts";

const dryRun = "?dryRun=All";

/** Identities are the server's to give. */
function creation(yaml: string): Step {
  const { metadata, ...rest } = parse(yaml) as {
    readonly apiVersion: string;
    readonly kind: string;
    readonly metadata: object;
  };
  const {
    uid: _uid,
    generation: _generation,
    ...given
  } = metadata as Readonly<Record<string, unknown>>;
  return post(`${pathOf(rest)}${dryRun}`, { ...rest, metadata: given });
}

function pathOf({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }) {
  const info = builtinResources().find(
    (row) => kind === row.kind && apiVersion === [row.group, row.version].filter(Boolean).join("/"),
  );
  if (info === undefined) throw new Error(`no resource of ${apiVersion} ${kind}`);
  const root = info.group === "" ? "/api/v1" : `/apis/${apiVersion}`;
  return `${root}${info.namespaced ? "/namespaces/{ns}" : ""}/${info.resource}`;
}

const creations: readonly Case[] = warnedManifests.map(([name, yaml]) => ({
  name,
  steps: [creation(yaml)],
}));

const jobs = "/apis/batch/v1/namespaces/{ns}/jobs";
const crons = "/apis/batch/v1/namespaces/{ns}/cronjobs";
const deployments = "/apis/apps/v1/namespaces/{ns}/deployments";
const controllers = "/api/v1/namespaces/{ns}/replicationcontrollers";
const templates = "/api/v1/namespaces/{ns}/podtemplates";
const spec = {
  nodeSelector: { "beta.kubernetes.io/os": "linux" },
  containers: [{ name: "c", image: "i" }],
};
const template = { metadata: { labels: { a: "b" } }, spec };
const selector = { matchLabels: { a: "b" } };
const job = { spec: { template: { spec: { ...spec, restartPolicy: "Never" } } } };

const updates: Case = {
  name: "updates and deletions",
  steps: [
    post(deployments, { metadata: { name: "d" }, spec: { selector, template } }),
    patch("merge", `${deployments}/d`, { metadata: { labels: { x: "y" } } }),
    patch("merge", `${deployments}/d`, { spec: { paused: true } }),
    patch("merge", `${deployments}/d/status`, { status: { replicas: 1 } }),
    patch("merge", `${deployments}/d/scale`, { spec: { replicas: 3 } }),
    post(controllers, { metadata: { name: "d" }, spec: { template } }),
    patch("merge", `${controllers}/d`, { spec: { template: { spec: { nodeSelector: null } } } }),
    patch("merge", `${controllers}/d`, { spec: { replicas: 2 } }),
    post(templates, { metadata: { name: "d" }, template }),
    patch("merge", `${templates}/d`, { metadata: { labels: { x: "y" } } }),
    patch("merge", `${templates}/d`, { template: { metadata: { labels: { x: "y" } } } }),
    post(crons, { metadata: { name: "c" }, spec: { schedule: "* * * * *", jobTemplate: job } }),
    patch("merge", `${crons}/c`, { spec: { suspend: true } }),
    put(`${crons}/c`, {
      metadata: { name: "c" },
      spec: { schedule: "TZ=UTC * * * * *", jobTemplate: job },
    }),
    post(jobs, { metadata: { name: "j" }, ...job }),
    remove(`${jobs}/j${dryRun}`),
    remove(`${jobs}/j${dryRun}&propagationPolicy=Orphan`),
    remove(`${jobs}/j${dryRun}`, { propagationPolicy: "Background" }),
    remove(`${jobs}/none`),
    remove(`${jobs}${dryRun}`),
  ],
};

export const warned: Suite = { name: "warnings", cases: [...creations, updates] };
