/**
 * An API server that costs nearly nothing: one list of Pods, made once, and a watch that changes them in
 * turn at a rate. All sides of a comparison read the same objects, in protobuf if they ask for it first.
 */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { AnyObject } from "#api/object.ts";
import { entryBytes, listParts, watchFrame } from "#forms/protobuf/envelope.ts";

export interface PodsServer {
  readonly url: string;
  /** Sends `perSecond` changes for `seconds` on the watch that is open. @returns how many. */
  change(perSecond: number, seconds: number): Promise<number>;
  close(): void;
}

const batchesPerSecond = 50;
const protobufType = "application/vnd.kubernetes.protobuf";

export async function startPodsServer(count: number): Promise<PodsServer> {
  const forms = { json: jsonForm(), protobuf: protobufForm() };
  const objects = Array.from({ length: count }, (_, at) => podOf(at, 1));
  let watch: { readonly response: ServerResponse; readonly form: Form } | undefined;
  const server = createServer((request, response) => {
    const isProtobuf = request.headers.accept?.startsWith(protobufType) === true;
    const form = forms[isProtobuf ? "protobuf" : "json"];
    const isWatch = request.url?.includes("watch=") === true;
    response.setHeader("content-type", isWatch ? form.streamType : form.type);
    if (isWatch) {
      watch = { response, form };
      response.flushHeaders();
      if (request.url?.includes("sendInitialEvents=true") === true) {
        sendState(response, form, objects);
      }
    } else response.end(form.list(objects));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  let version = 1;
  const batch = (form: Form, size: number): Uint8Array => {
    const frames: Uint8Array[] = [];
    for (let sent = 0; sent < size; sent++) {
      version++;
      frames.push(form.frame("MODIFIED", podOf(version % count, version)));
    }
    return Buffer.concat(frames);
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async change(perSecond, seconds) {
      const size = Math.ceil(perSecond / batchesPerSecond);
      let left = seconds * batchesPerSecond;
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setInterval(() => {
        if (watch !== undefined) watch.response.write(batch(watch.form, size));
        if (--left === 0) resolve();
      }, 1000 / batchesPerSecond);
      await promise;
      clearInterval(timer);
      return size * seconds * batchesPerSecond;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** How objects are written. */
interface Form {
  readonly type: string;
  readonly streamType: string;
  list(pods: readonly BenchPod[]): Uint8Array;
  frame(type: string, object: AnyObject): Uint8Array;
}

type BenchPod = ReturnType<typeof podOf>;

function jsonForm(): Form {
  const head = '{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[';
  const type = "application/json";
  return {
    type,
    streamType: type,
    list: (pods) => Buffer.from(`${head}${pods.map((pod) => JSON.stringify(pod)).join(",")}]}`),
    frame: (event, object) => Buffer.from(`${JSON.stringify({ type: event, object })}\n`),
  };
}

function protobufForm(): Form {
  const pod = { apiVersion: "v1", kind: "Pod" };
  const list = { apiVersion: "v1", kind: "PodList" };
  return {
    type: protobufType,
    streamType: `${protobufType};stream=watch`,
    list: (pods) =>
      Buffer.concat(
        listParts(
          list,
          { resourceVersion: "1" },
          pods.map((object) => entryBytes(pod, object)),
        ),
      ),
    frame: (event, object) => watchFrame(event, pod, object),
  };
}

/** The state as a watch that begins with it has it. */
function sendState(response: ServerResponse, form: Form, pods: readonly BenchPod[]): void {
  for (const pod of pods) response.write(form.frame("ADDED", pod));
  const annotations = { "k8s.io/initial-events-end": "true" };
  const object = { kind: "Pod", apiVersion: "v1", metadata: { resourceVersion: "1", annotations } };
  response.write(form.frame("BOOKMARK", object));
}

/** A running Pod of one container, about 2.5 KB. */
export function podOf(at: number, version: number) {
  const name = `web-${at}`;
  const labels = { app: "web", "pod-template-hash": "5d4f8c7b9", tier: `tier-${at % 7}` };
  const time = "2026-01-01T00:00:00Z";
  const condition = (type: string) => {
    return { type, status: "True", lastProbeTime: null, lastTransitionTime: time };
  };
  const owner = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    name: "web-5d4f8c7b9",
    uid: "7e8f9a0b-1c2d-4e3f-8a5b-6c7d8e9f0a1b",
    controller: true,
    blockOwnerDeletion: true,
  };
  const fieldsV1 = { "f:metadata": { "f:labels": { "f:app": {} } }, "f:spec": { "f:image": {} } };
  const managed = { operation: "Update", apiVersion: "v1", time, fieldsType: "FieldsV1", fieldsV1 };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      generateName: "web-",
      namespace: `team-${at % 50}`,
      uid: `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`,
      resourceVersion: String(version),
      creationTimestamp: time,
      labels,
      annotations: { "example.com/revision": String(version) },
      ownerReferences: [owner],
      managedFields: [
        { manager: "kube-controller-manager", ...managed },
        { manager: "kubelet", ...managed, subresource: "status" },
      ],
    },
    spec: {
      containers: [
        {
          name: "web",
          image: "registry.example.com/team/web:1.27.3",
          ports: [{ name: "http", containerPort: 8080, protocol: "TCP" }],
          env: [
            { name: "LOG_LEVEL", value: "info" },
            { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
          ],
          resources: { limits: { memory: "256Mi" }, requests: { cpu: "100m", memory: "128Mi" } },
          volumeMounts: [{ name: "config", mountPath: "/etc/web", readOnly: true }],
          imagePullPolicy: "IfNotPresent",
        },
      ],
      volumes: [{ name: "config", configMap: { name: "web", defaultMode: 420 } }],
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      nodeName: `node-${at % 500}`,
      schedulerName: "default-scheduler",
      tolerations: [
        { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" },
      ],
    },
    status: {
      phase: "Running",
      conditions: ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map(condition),
      hostIP: "192.0.2.10",
      podIP: `10.0.${at % 250}.${version % 250}`,
      startTime: time,
      containerStatuses: [
        {
          name: "web",
          state: { running: { startedAt: time } },
          ready: true,
          restartCount: version % 3,
          image: "registry.example.com/team/web:1.27.3",
          imageID: "registry.example.com/team/web@sha256:0123456789abcdef",
          started: true,
        },
      ],
      qosClass: "Burstable",
    },
  };
}
