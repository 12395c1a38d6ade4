/**
 * What the rules across files let pass, each with its reason. The list may only become shorter: a permit
 * that is no longer needed fails the check, and `tidy-graph.test.ts` holds its length.
 */
import type { Permits } from "./tidy-graph.ts";

export const permits: Permits = {
  // What package.json exports as a whole, and the program.
  entryPoints: [
    "src/client/create-controller.ts",
    "src/client/finalizers.ts",
    "src/cmd/connect.ts",
    "src/cmd/embed.ts",
    "src/cmd/main.ts",
    "src/cmd/testing/test-tools.ts",
  ],
  cycles: [],
  testOnly: {
    "tests of roles look at their leases": ["src/client/election.ts leaseResource"],
    "custom resources have a scale subresource and selectable fields": [
      "src/api/scale.ts applyScaleToPath",
      "src/api/scale.ts scaleFromPaths",
    ],
    "a test that a table names only kinds that exist, or all of them": [
      "src/api/schema/schema.ts definitionNames",
      "src/api/strategies.ts listDescribedResources",
      "src/sim/checkers/guarantees.ts guarantees",
    ],
    "its file uses the limit; a test goes up to it and one beyond": [
      "src/api/apply/managers.ts updateManagersMax",
      "src/api/patch/json-patch.ts jsonPatchOperationsMax",
      "src/controllers/endpoints/legacy.ts addressesMax",
      "src/controllers/endpoints/slices.ts endpointsMax",
      "src/controllers/job/tally.ts uncountedMax",
      "src/controllers/replicaset/replicas.ts burstReplicas",
      "src/etcd/h2-reader.ts headerBlockBytesMax",
    ],
    "openStore chooses one of them by its engine; tests open one without the choice": [
      "src/store/open.ts openMemoryStore",
      "src/store/open.ts openStoreOn",
    ],
    "its file uses the name or the error; a test looks for it in the outcome": [
      "src/store/engines/local/directory.ts ForeignDirectoryError",
      "src/client/events.ts eventsRef",
      "src/controllers/deployment/revision.ts revisionHistoryAnnotation",
      "src/controllers/nodelifecycle/health.ts notReadyKey",
      "src/controllers/nodelifecycle/health.ts unreachableKey",
      "src/platform/node/heap.ts offHeapFlag",
    ],
    "its file calls it; its cases are a table of their own": [
      "src/platform/node/host-address.ts firstReachable",
      "src/controllers/certificates/approving.ts rightsFor",
      "src/api/defaults/image.ts imageTag",
      "src/api/printers/printers.ts defaultPrinter",
      "src/apiserver/kubelet/proxy-target.ts splitId",
      "src/controllers/endpoints/desired.ts portsOf",
      "src/controllers/endpoints/legacy.ts legacyEndpoints",
      "src/controllers/framework/gather.ts gatherMs",
      "src/controllers/nodelifecycle/health.ts conditionTaints",
      "src/controllers/nodelifecycle/health.ts evictionTaints",
      "src/controllers/nodelifecycle/zones.ts zoneState",
      "src/controllers/podgc/garbage.ts findOrphaned",
      "src/controllers/podgc/garbage.ts findTerminatedBeyond",
      "src/controllers/podgc/garbage.ts findTerminatingOutOfService",
      "src/controllers/podgc/garbage.ts findUnscheduledTerminating",
      "src/controllers/pods/pod.ts availableInMs",
      "src/platform/node/http/socket-writer.ts directHandle",
      "src/wire/buffer-pool.ts BufferPool",
    ],
  },
};
