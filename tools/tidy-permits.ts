/**
 * What the rules across files let pass, each with its reason. The list may only become shorter: a permit
 * that is no longer needed fails the check, and `tidy-graph.test.ts` holds its length.
 */
import type { Permits } from "./tidy-graph.ts";

export const permits: Permits = {
  // What package.json exports as a whole, and the program.
  entryPoints: [
    "src/crowd/client/create-controller.ts",
    "src/crowd/client/finalizers.ts",
    "src/run/cmd/connect.ts",
    "src/run/cmd/embed.ts",
    "src/run/cmd/own-scheduler.ts",
    "src/run/cmd/main.ts",
    "src/crowd/client/testing/test-tools.ts",
  ],
  cycles: [],
  testOnly: {
    "custom resources have a scale subresource and selectable fields": [
      "src/core/api/convert/scale.ts applyScaleToPath",
      "src/core/api/convert/scale.ts scaleFromPaths",
    ],
    "a test that a table names only kinds that exist, or all of them": [
      "src/core/api/schema/schema.ts definitionNames",
      "src/core/api/strategies/strategies.ts listDescribedResources",
      "src/run/sim/checkers/guarantees.ts guarantees",
    ],
    "its file uses the limit; a test goes up to it and one beyond": [
      "src/core/api/apply/managers.ts updateManagersMax",
      "src/core/api/patch/json-patch.ts jsonPatchOperationsMax",
      "src/loops/controllers/endpoints/legacy.ts addressesMax",
      "src/loops/controllers/endpoints/slices.ts endpointsMax",
      "src/loops/controllers/job/tally.ts uncountedMax",
      "src/loops/controllers/replicaset/replicas.ts burstReplicas",
      "src/commit/etcd/h2-reader.ts headerBlockBytesMax",
    ],
    "openStore chooses one of them by its engine; tests open one without the choice": [
      "src/commit/store/open.ts openMemoryStore",
      "src/commit/store/open.ts openStoreOn",
    ],
    "its file uses the name or the error; a test looks for it in the outcome": [
      "src/commit/store/engines/local/directory.ts ForeignDirectoryError",
      "src/crowd/client/events.ts eventsRef",
      "src/loops/controllers/deployment/revision.ts revisionHistoryAnnotation",
      "src/loops/controllers/nodelifecycle/health.ts notReadyKey",
      "src/loops/controllers/nodelifecycle/health.ts unreachableKey",
      "src/core/platform/node/heap.ts offHeapFlag",
    ],
    "its file calls it; its cases are a table of their own": [
      "src/core/platform/node/host-address.ts firstReachable",
      "src/loops/controllers/certificates/approving.ts rightsFor",
      "src/core/api/defaults/image.ts imageTag",
      "src/core/api/printers/printers.ts defaultPrinter",
      "src/gate/apiserver/kubelet/proxy-target.ts splitId",
      "src/loops/controllers/endpoints/desired.ts portsOf",
      "src/loops/controllers/endpoints/legacy.ts legacyEndpoints",
      "src/crowd/client/gather.ts gatherMs",
      "src/loops/controllers/nodelifecycle/health.ts conditionTaints",
      "src/loops/controllers/nodelifecycle/health.ts evictionTaints",
      "src/loops/controllers/nodelifecycle/zones.ts zoneState",
      "src/loops/controllers/podgc/garbage.ts findOrphaned",
      "src/loops/controllers/podgc/garbage.ts findTerminatedBeyond",
      "src/loops/controllers/podgc/garbage.ts findTerminatingOutOfService",
      "src/loops/controllers/podgc/garbage.ts findUnscheduledTerminating",
      "src/loops/controllers/pods/pod.ts availableInMs",
      "src/core/platform/node/http/socket-writer.ts directHandle",
      "src/core/wire/buffer-pool.ts BufferPool",
    ],
  },
};
