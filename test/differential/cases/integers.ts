/**
 * Integers beyond 2^53 and numbers that are none: what each way of writing keeps, and what is refused.
 */
import { get, patch, post, put, remove, type Case, type Step, type Suite } from "../exchange.ts";

const path = "/apis/apps/v1/namespaces/{ns}/controllerrevisions";
const one = `${path}/big`;
const kind = '"apiVersion":"apps/v1","kind":"ControllerRevision"';
const big = "9007199254740993";
const nines = "9".repeat(400);

function revision(value: string, name = "big", data = `{"a":${big}}`): string {
  return `{${kind},"metadata":{"name":"${name}"},"data":${data},"revision":${value}}`;
}

const written: Case = {
  name: "an integer beyond 2^53 is kept by every way of writing",
  steps: [
    post(path, revision(big)),
    get(one),
    get(path),
    put(one, revision("9007199254740995")),
    patch("merge", one, '{"revision":9007199254740997}'),
    patch("merge", one, '{"metadata":{"labels":{"a":"b"}}}'),
    patch("strategic", one, '{"revision":9007199254740999}'),
    patch("strategic", one, '{"metadata":{"labels":{"a":"c"}}}'),
    patch(
      "json",
      one,
      '[{"op":"test","path":"/revision","value":9007199254740999},{"op":"replace","path":"/revision","value":9223372036854775807}]',
    ),
    patch("json", one, '[{"op":"test","path":"/revision","value":9223372036854775806}]'),
    patch("apply", `${one}?fieldManager=x&force=true`, revision("9007199254741001")),
    patch("apply", `${one}?fieldManager=y`, revision("9007199254741003")),
    get(one),
    get(one, { headers: { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" } }),
    remove(one, '{"gracePeriodSeconds":9007199254740993}'),
  ],
};

const spellings = [
  "-9223372036854775808",
  "9223372036854775808",
  "18446744073709551616",
  nines,
  "1.0",
  "1e3",
  "-0.0",
  "1.5",
  "1e400",
  "01",
];

const spelled: Case = {
  name: "a typed integer is one in its spelling",
  steps: spellings.map((value) => post(`${path}?dryRun=All`, revision(value))),
};

const pods: Case = {
  name: "integers of a pod",
  steps: [
    pod('"terminationGracePeriodSeconds":9007199254740993'),
    pod('"activeDeadlineSeconds":9007199254740993'),
    pod('"securityContext":{"runAsUser":9007199254740993}'),
    pod('"securityContext":{"runAsUser":3000000000,"fsGroup":2147483647}'),
    pod('"priority":9007199254740993'),
    pod(
      '"tolerations":[{"operator":"Exists","effect":"NoExecute","tolerationSeconds":9007199254740993}]',
    ),
  ],
};

function pod(field: string): Step {
  const text = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],${field}}}`;
  return post("/api/v1/namespaces/{ns}/pods?dryRun=All", text);
}

const patched: Case = {
  name: "numbers of patches",
  steps: [
    post(path, revision("1")),
    patch("merge", `${one}?dryRun=All`, '{"revision":1e400}'),
    patch("strategic", `${one}?dryRun=All`, '{"revision":1e400}'),
    patch("json", `${one}?dryRun=All`, '[{"op":"replace","path":"/revision","value":1e400}]'),
    patch("strategic", `${one}?dryRun=All`, '{"revision":2.0}'),
    patch("apply", `${one}?dryRun=All&fieldManager=x&force=true`, revision("3.0")),
  ],
};

const deployments = "/apis/apps/v1/namespaces/{ns}/deployments";
const deployment = (replicas: string): string =>
  `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":${replicas},"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80}]}]}}}}`;
const whole = ["2.0", "2e0", "20e-1", "2.5", "-0"];

const fractions: Case = {
  name: "a fraction of nothing in an integer field",
  steps: [
    post(deployments, deployment("1")),
    ...whole.flatMap((number) => [
      post(`${deployments}?dryRun=All`, deployment(number).replace('"d"', '"e"')),
      put(`${deployments}/d?dryRun=All`, deployment(number)),
      patch("merge", `${deployments}/d?dryRun=All`, `{"spec":{"replicas":${number}}}`),
      patch("strategic", `${deployments}/d?dryRun=All`, `{"spec":{"replicas":${number}}}`),
      patch(
        "strategic",
        `${deployments}/d?dryRun=All`,
        `{"spec":{"template":{"spec":{"containers":[{"name":"c","ports":[{"containerPort":${number}}]}]}}}}`,
      ),
      patch(
        "json",
        `${deployments}/d?dryRun=All`,
        `[{"op":"replace","path":"/spec/replicas","value":${number}}]`,
      ),
      patch(
        "json",
        `${deployments}/d?dryRun=All`,
        `[{"op":"test","path":"/spec/replicas","value":1.0}]`,
      ),
      patch("apply", `${deployments}/d?dryRun=All&fieldManager=x&force=true`, deployment(number)),
      patch("merge", `${deployments}/d/scale?dryRun=All`, `{"spec":{"replicas":${number}}}`),
      put(
        `${deployments}/d/scale?dryRun=All`,
        `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},"spec":{"replicas":${number}}}`,
      ),
    ]),
  ],
};

const head = "apiVersion: apps/v1\nkind: ControllerRevision\nmetadata: {name: y}\n";

const yaml: Case = {
  name: "integers in YAML",
  steps: ["9007199254740993", "0x20000000000001", "3.0", "9223372036854775808"].map((value) =>
    post(`${path}?dryRun=All`, `${head}data: {a: ${value}}\nrevision: ${value}\n`, {
      type: "application/yaml",
    }),
  ),
};

export const integers: Suite = {
  name: "integers",
  cases: [written, spelled, pods, patched, fractions, yaml],
};
