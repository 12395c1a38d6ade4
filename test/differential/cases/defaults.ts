/** What stock fills in: pull policies of odd references, labels of jobs, amounts of whole pods. */
import { given } from "#base/given.ts";
import { post, type Case, type Suite } from "../exchange.ts";

const pods = "/api/v1/namespaces/{ns}/pods?dryRun=All";
const jobs = "/apis/batch/v1/namespaces/{ns}/jobs?dryRun=All";
const hex = "a".repeat(64);

const images: Case = {
  name: "pull policies",
  steps: [
    "nginx",
    "nginx:latest",
    "nginx:1",
    "Nginx",
    "<X>",
    "ko://github.com/x/y",
    "foo/Bar",
    "localhost/a",
    "Foo/bar",
    "a_b.c/d",
    "reg:5000/a",
    "[::1]/a",
    "a___b",
    "a:",
    "$(IMG)",
    hex,
    `a@sha256:${hex}`,
    `a:1@sha256:${hex}`,
    `a:latest@sha256:${hex}`,
    "a@md5:" + "0".repeat(32),
    "index.docker.io/a",
    "a:b/c",
    "ä",
    `b/${"a".repeat(254)}`,
    `a:${"a".repeat(129)}`,
  ].map((image) =>
    post(pods, {
      metadata: { name: "p" },
      spec: {
        containers: [{ name: "c", image }],
        volumes: [{ name: "v", image: { reference: image } }],
      },
    }),
  ),
};

const labels = { a: "b" };
const podSpec = { restartPolicy: "Never", containers: [{ name: "c", image: "i:1" }] };
const job = (own: object | undefined, template: object | undefined, more = {}) =>
  post(jobs, {
    metadata: { name: "j", ...given({ labels: own }) },
    spec: {
      ...more,
      template: {
        ...(template === undefined ? {} : { metadata: { labels: template } }),
        spec: podSpec,
      },
    },
  });

const jobLabels: Case = {
  name: "labels of jobs",
  steps: [
    job(undefined, undefined),
    job(undefined, labels),
    job(labels, labels),
    job({ x: "y" }, labels),
    job(labels, undefined),
    job({}, labels),
    job(undefined, {}),
    job(undefined, labels, { manualSelector: true, selector: { matchLabels: labels } }),
  ],
};

const whole = (resources: object | undefined, requests: object, limits: object = {}) =>
  post(pods, {
    metadata: { name: "p" },
    spec: {
      ...given({ resources }),
      containers: [{ name: "c", image: "i:1", resources: { requests, limits } }],
    },
  });

const wholePods: Case = {
  name: "amounts of whole pods",
  steps: [
    whole({}, { cpu: "1", memory: "1Gi" }),
    whole({ requests: {} }, { cpu: "1" }),
    whole({ requests: { cpu: "2" } }, { cpu: "1", memory: "1Gi" }),
    whole({ requests: { cpu: "1" } }, { cpu: "2", memory: "1Gi" }),
    whole({ requests: { cpu: "0" } }, { cpu: "1" }),
    whole({ limits: { memory: "1Gi" } }, { cpu: "1" }),
    whole({ limits: { cpu: "1" } }, {}, { cpu: "2" }),
    whole({ limits: { cpu: "2" } }, { cpu: "1" }, { cpu: "1" }),
    whole({ limits: { "hugepages-2Mi": "2Mi" } }, { cpu: "1" }, { "hugepages-2Mi": "4Mi" }),
    whole({ requests: { cpu: "1", "ephemeral-storage": "1Gi" } }, {}),
    whole({ requests: { cpu: "2" }, limits: { cpu: "1" } }, {}),
  ],
};

export const defaults: Suite = { name: "defaults", cases: [images, jobLabels, wholePods] };
