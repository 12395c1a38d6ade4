/** Claims, classes and slices of devices: what their fields may say, one fault a step. */
import { post, put, type Case, type Step, type Suite } from "../exchange.ts";

const group = "/apis/resource.k8s.io/v1";
const claims = `${group}/namespaces/{ns}/resourceclaims`;
const many = <T>(length: number, make: (at: number) => T): T[] =>
  Array.from({ length }, (_, at) => make(at));
const long = (length: number): string => "a".repeat(length);

const claim = (devices: object, name = "c"): Step =>
  post(`${claims}?dryRun=All`, { metadata: { name }, spec: { devices } });
const exactly = { deviceClassName: "gpu.example.com" };
const request = (fields: object, name = "r"): object => ({
  name,
  exactly: { ...exactly, ...fields },
});
const requests = (...all: object[]): Step => claim({ requests: all });
const sub = (fields: object, name = "s"): object => ({ name, ...exactly, ...fields });
const first = (...all: object[]): Step => requests({ name: "r", firstAvailable: all });
const withOne = (fields: object): Step => claim({ requests: [request({})], ...fields });
const cel = (expression: string): object => ({ cel: { expression } });
const opaque = (parameters: unknown, driver = "a.example.com"): object => ({
  opaque: { driver, parameters },
});

const claimCases: Case = {
  name: "claims",
  steps: [
    claim({}),
    requests({ name: "r" }),
    requests({ name: "", exactly }),
    requests({ name: "Bad_Name", exactly }),
    requests({ name: long(64), exactly }),
    requests({ name: "r", exactly, firstAvailable: [sub({})] }),
    requests(request({}), request({})),
    requests(...many(33, (at) => request({}, `r${at}`))),
    requests({ name: "r", exactly: {} }),
    requests(request({ deviceClassName: "Bad_Class" })),
    requests(request({ allocationMode: "Some" })),
    requests(request({ allocationMode: "All", count: 2 })),
    requests(request({ allocationMode: "ExactCount", count: -1 })),
    requests(request({ count: 0 })),
    requests(request({ selectors: [{}] })),
    requests(request({ selectors: [cel(`"${long(10_240)}" == ""`)] })),
    requests(request({ selectors: many(33, () => cel("true")) })),
    requests(request({ tolerations: [{ operator: "Odd" }] })),
    requests(request({ tolerations: [{ operator: "Exists", value: "a" }] })),
    requests(request({ tolerations: [{ key: "-", operator: "Exists" }] })),
    requests(request({ tolerations: [{ key: "a", value: "-" }] })),
    requests(request({ tolerations: [{ operator: "Exists", effect: "Odd" }] })),
    requests(request({ tolerations: many(17, () => ({ operator: "Exists" })) })),
    first(sub({}), sub({})),
    first(...many(9, (at) => sub({}, `s${at}`))),
    first(sub({}, "")),
    first(sub({}, "Bad_Name")),
    first(sub({ deviceClassName: "" })),
    first(sub({ allocationMode: "All", count: 2 })),
    first(sub({ selectors: [{}] })),
    withOne({ constraints: [{}] }),
    withOne({ constraints: [{ matchAttribute: "a.example.com/b", requests: ["other"] }] }),
    withOne({ constraints: [{ matchAttribute: "a.example.com/b", requests: ["r/s"] }] }),
    withOne({ constraints: [{ matchAttribute: "a.example.com/b", requests: ["a/b/c"] }] }),
    withOne({ constraints: [{ matchAttribute: "a.example.com/b", requests: ["r", "r"] }] }),
    withOne({ constraints: [{ matchAttribute: "b" }] }),
    withOne({ constraints: [{ matchAttribute: "a.example.com/b-c" }] }),
    withOne({ constraints: [{ matchAttribute: `a.example.com/${long(33)}` }] }),
    withOne({ constraints: [{ matchAttribute: "/b" }] }),
    withOne({ constraints: [{ matchAttribute: "a.example.com/" }] }),
    withOne({ constraints: [{ distinctAttribute: "b" }] }),
    withOne({ constraints: many(33, () => ({ matchAttribute: "a.example.com/b" })) }),
    withOne({ config: [{}] }),
    withOne({ config: [{ ...opaque({}), requests: ["other"] }] }),
    withOne({ config: [opaque({}, "Bad_Driver")] }),
    withOne({ config: [opaque({}, "")] }),
    withOne({ config: [opaque({}, long(64))] }),
    withOne({ config: [opaque([])] }),
    withOne({ config: [opaque(1)] }),
    withOne({ config: [opaque(null)] }),
    withOne({ config: [opaque({ a: long(10_240) })] }),
    withOne({ config: many(33, () => opaque({})) }),
    post(`${group}/namespaces/{ns}/resourceclaimtemplates?dryRun=All`, {
      metadata: { name: "t" },
      spec: {
        metadata: { labels: { "-": "" } },
        spec: { devices: { requests: [{ name: "r", exactly: {} }] } },
      },
    }),
    post(`${group}/namespaces/{ns}/resourceclaimtemplates`, {
      metadata: { name: "t" },
      spec: { spec: { devices: { requests: [request({})] } } },
    }),
    put(`${group}/namespaces/{ns}/resourceclaimtemplates/t`, {
      metadata: { name: "t" },
      spec: { spec: { devices: { requests: [request({}, "other")] } } },
    }),
    claim({ requests: [request({ selectors: [cel("true")] })] }),
  ],
};

const result = { request: "r", driver: "a.example.com", pool: "p", device: "d" };
const allocated = (fields: object = {}): object => ({
  devices: { results: [{ ...result, ...fields }] },
});
const user = (at = 0): object => ({ resource: "pods", name: `p${at}`, uid: `u${at}` });
const status = (fields: object): Step =>
  put(`${claims}/c/status?dryRun=All`, {
    metadata: { name: "c" },
    spec: { devices: { requests: [request({ allocationMode: "ExactCount", count: 1 })] } },
    status: fields,
  });
const shown = (fields: object): Step =>
  status({
    allocation: allocated(),
    devices: [{ driver: "a.example.com", pool: "p", device: "d", ...fields }],
  });

const statuses: Case = {
  name: "status of a claim",
  steps: [
    post(claims, { metadata: { name: "c" }, spec: { devices: { requests: [request({})] } } }),
    status({ reservedFor: [user()] }),
    status({ allocation: allocated(), reservedFor: [user(), user()] }),
    status({ allocation: allocated(), reservedFor: many(257, user) }),
    status({ allocation: allocated(), reservedFor: [{ name: "p", uid: "u", resource: "" }] }),
    status({ allocation: allocated(), reservedFor: [{ name: "", uid: "u", resource: "pods" }] }),
    status({ allocation: allocated(), reservedFor: [{ name: "p", uid: "", resource: "pods" }] }),
    status({ allocation: allocated({ request: "other" }) }),
    status({ allocation: allocated({ driver: "Bad_Driver" }) }),
    status({ allocation: allocated({ pool: "" }) }),
    status({ allocation: allocated({ pool: "Bad_Pool" }) }),
    status({ allocation: allocated({ pool: `${long(250)}/abc` }) }),
    status({ allocation: allocated({ device: "Bad_Device" }) }),
    status({ allocation: allocated({ device: "" }) }),
    status({ allocation: allocated({ shareID: "x" }) }),
    status({ allocation: allocated({ shareID: "AAAAAAAA-0000-0000-0000-000000000000" }) }),
    status({ allocation: allocated({ bindingConditions: ["a"] }) }),
    status({ allocation: { devices: { results: many(33, () => result) } } }),
    status({
      allocation: {
        devices: { results: [result], config: [{ source: "Odd", ...opaque({}) }] },
      },
    }),
    status({
      allocation: { devices: { results: [result], config: [{ source: "", ...opaque({}) }] } },
    }),
    status({
      allocation: { devices: { results: [result] }, nodeSelector: { nodeSelectorTerms: [] } },
    }),
    shown({ device: "other" }),
    shown({ data: [] }),
    shown({ data: { a: long(10_240) } }),
    shown({ networkData: { interfaceName: long(257) } }),
    shown({ networkData: { hardwareAddress: long(129) } }),
    shown({ networkData: { ips: ["10.0.0.1"] } }),
    shown({ networkData: { ips: ["10.0.0.1/24", "10.0.0.1/24"] } }),
    shown({ networkData: { ips: many(17, (at) => `10.0.0.${at}/24`) } }),
    shown({ conditions: [{ type: "-", status: "Odd", reason: "", message: "" }] }),
    shown({}),
  ],
};

const klass = (spec: object): Step =>
  post(`${group}/deviceclasses?dryRun=All`, { metadata: { name: "c-{ns}" }, spec });
const classes: Case = {
  name: "classes",
  steps: [
    klass({ selectors: [{}] }),
    klass({ selectors: many(33, () => cel("true")) }),
    klass({ config: [{}] }),
    klass({ config: [opaque({}, "Bad_Driver")] }),
    klass({ config: many(33, () => opaque({})) }),
    klass({ extendedResourceName: "cpu" }),
    klass({ extendedResourceName: "example.com/gpu" }),
    klass({ selectors: [cel("true")], config: [opaque({})] }),
  ],
};

const pool = { name: "p", generation: 1, resourceSliceCount: 1 };
const slice = (fields: object): Step =>
  post(`${group}/resourceslices?dryRun=All`, {
    metadata: { name: "s-{ns}" },
    spec: { driver: "a.example.com", pool, nodeName: "n", devices: [], ...fields },
  });
const device = (fields: object): Step => slice({ devices: [{ name: "d", ...fields }] });
const attribute = (value: object, name = "a"): Step => device({ attributes: { [name]: value } });
const capacity = (requestPolicy: object | undefined, more: object = {}): Step =>
  device({
    capacity: { memory: { value: "10", requestPolicy } },
    allowMultipleAllocations: true,
    ...more,
  });
const term = { matchExpressions: [{ key: "a", operator: "Exists" }] };
const perDevice = (fields: object): Step =>
  slice({ nodeName: undefined, perDeviceNodeSelection: true, devices: [{ name: "d", ...fields }] });
const counters = { a: { value: "1" } };

const slices: Case = {
  name: "slices",
  steps: [
    slice({}),
    slice({ driver: "" }),
    slice({ driver: "Bad_Driver" }),
    slice({ driver: long(64) }),
    slice({ pool: { ...pool, name: "" } }),
    slice({ pool: { ...pool, name: "a/B" } }),
    slice({ pool: { ...pool, name: `${long(250)}/abc` } }),
    slice({ pool: { ...pool, resourceSliceCount: 0 } }),
    slice({ pool: { ...pool, generation: -1 } }),
    slice({ nodeName: "Bad_Node" }),
    slice({ nodeName: "" }),
    slice({ nodeName: undefined }),
    slice({ allNodes: true }),
    slice({ nodeName: undefined, allNodes: false }),
    slice({ nodeName: undefined, perDeviceNodeSelection: false }),
    slice({ nodeName: undefined, nodeSelector: { nodeSelectorTerms: [term, term] } }),
    slice({ nodeName: undefined, nodeSelector: { nodeSelectorTerms: [term] } }),
    slice({ sharedCounters: [{ name: "c", counters }], devices: [{ name: "d" }] }),
    slice({ devices: undefined, sharedCounters: [{ name: "", counters }] }),
    slice({ devices: undefined, sharedCounters: [{ name: "Bad_", counters }] }),
    slice({ devices: undefined, sharedCounters: [{ name: "c", counters: {} }] }),
    slice({
      devices: undefined,
      sharedCounters: [{ name: "c", counters: { Bad_: { value: "1" } } }],
    }),
    slice({
      devices: undefined,
      sharedCounters: [
        { name: "c", counters },
        { name: "c", counters },
      ],
    }),
    slice({ devices: undefined, sharedCounters: many(9, (at) => ({ name: `c${at}`, counters })) }),
    slice({ devices: many(129, (at) => ({ name: `d${at}` })) }),
    slice({
      devices: many(65, (at) => ({ name: `d${at}`, taints: [{ key: "a", effect: "NoSchedule" }] })),
    }),
    slice({ devices: [{ name: "d" }, { name: "d" }] }),
    device({ name: "" }),
    device({ name: "Bad_Device" }),
    device({ name: long(64) }),
    attribute({ string: "a" }),
    attribute({}),
    attribute({ string: "a", int: 1 }),
    attribute({ string: long(65) }),
    attribute({ version: "1.0" }),
    attribute({ version: "1.0.0-beta.1+x" }),
    attribute({ version: `1.0.0-${long(64)}` }),
    attribute({ ints: [] }),
    attribute({ strings: [long(65)] }),
    attribute({ versions: ["1"] }),
    attribute({ string: "a" }, "a-b"),
    attribute({ string: "a" }, long(33)),
    attribute({ string: "a" }, "/a"),
    attribute({ string: "a" }, "a.example.com/"),
    attribute({ string: "a" }, "Bad_/a"),
    device({ attributes: Object.fromEntries(many(33, (at) => [`a${at}`, { int: at }])) }),
    attribute({ ints: many(49, (at) => at) }),
    capacity({ default: "1" }, { allowMultipleAllocations: false }),
    capacity({ validValues: ["1", "2"] }),
    capacity({ default: "3", validValues: ["1", "2"] }),
    capacity({ default: "1", validValues: ["2", "1"] }),
    capacity({ default: "1", validValues: ["1", "11"] }),
    capacity({ default: "1", validValues: ["1", "1"] }),
    capacity({ default: "1", validValues: many(11, (at) => `${at}`) }),
    capacity({ default: "1", validValues: ["1"], validRange: { min: "1" } }),
    capacity({ validRange: { min: "1" } }),
    capacity({ default: "1", validRange: { max: "2" } }),
    capacity({ default: "1", validRange: { min: "11" } }),
    capacity({ default: "1", validRange: { min: "2" } }),
    capacity({ default: "3", validRange: { min: "1", max: "2" } }),
    capacity({ default: "3", validRange: { min: "3", max: "2" } }),
    capacity({ default: "1", validRange: { min: "1", max: "11" } }),
    capacity({ default: "2", validRange: { min: "1", step: "2" } }),
    capacity({ default: "1", validRange: { min: "1", max: "4", step: "2" } }),
    capacity({ default: "1", validRange: { min: "1", step: "10" } }),
    capacity({ default: "1", validRange: { min: "1", max: "5", step: "2" } }),
    device({ taints: [{ key: "a", effect: "Odd" }] }),
    device({ taints: [{ key: "a" }] }),
    device({ taints: [{ key: "", effect: "NoSchedule" }] }),
    device({ taints: [{ key: "a", value: "-", effect: "NoSchedule" }] }),
    device({ taints: many(17, () => ({ key: "a", effect: "NoSchedule" })) }),
    device({ consumesCounters: [{ counterSet: "", counters }] }),
    device({ consumesCounters: [{ counterSet: "c", counters: {} }] }),
    device({ consumesCounters: [{ counterSet: "c", counters: { Bad_: { value: "1" } } }] }),
    device({
      consumesCounters: [
        { counterSet: "c", counters },
        { counterSet: "c", counters },
      ],
    }),
    device({ consumesCounters: many(3, (at) => ({ counterSet: `c${at}`, counters })) }),
    device({ nodeName: "n" }),
    perDevice({}),
    perDevice({ nodeName: "" }),
    perDevice({ nodeName: "n", allNodes: true }),
    perDevice({ allNodes: false }),
    perDevice({ nodeName: "n" }),
    device({ bindingConditions: ["a"] }),
    device({ bindingFailureConditions: ["a"] }),
    device({ bindingConditions: ["a"], bindingFailureConditions: ["a"] }),
    device({ bindingConditions: ["a", "a"], bindingFailureConditions: ["b"] }),
    device({ bindingConditions: ["-"], bindingFailureConditions: ["b"] }),
    device({ bindingConditions: many(5, (at) => `a${at}`), bindingFailureConditions: ["b"] }),
    device({ bindingConditions: ["a"], bindingFailureConditions: ["b"] }),
  ],
};

export const devices: Suite = { name: "devices", cases: [claimCases, statuses, classes, slices] };
