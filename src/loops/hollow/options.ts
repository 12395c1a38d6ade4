/** Shape of hollow nodes and speed of their pods. All fields without `?` are required; `hollowDefaults` is for `cmd`. */
import type { Taint } from "#api/gen/types.ts";
import type { HollowDevices } from "./devices.ts";
import type { ScheduledFailure } from "./failure-schedule.ts";
import type { ImagePatterns } from "./image-pull.ts";
import type { WatchShape } from "./watch-shape.ts";
import { imagePatterns } from "./image-pull.ts";

export interface HollowOptions {
  readonly count: number;
  /** Prefix of the node names, which are `<prefix><index>`. */
  readonly namePrefix: string;
  /** Index of the first node; several processes share one cluster by ranges of indexes. */
  readonly firstIndex: number;
  /** CPU, memory and storage of a node, as quantities. */
  readonly cpu: string;
  readonly memory: string;
  readonly ephemeralStorage: string;
  readonly pods: number;
  /** Quantities of extended resources. */
  readonly resources?: Readonly<Record<string, string>>;
  /** Number of zones over which the nodes are distributed. */
  readonly zones: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** Interval of lease renewals; 10 s in the kubelet. */
  readonly heartbeatMs: number;
  /** Interval of status writes without a change; 5 min in the kubelet. */
  readonly statusMs: number;
  /** Time from bound to running; 0 saves the write of ContainerCreating. */
  readonly startMs: number;
  /** Time from the deletion request to the end of containers that stop as soon as they are signalled. */
  readonly stopMs: number;
  /** Run time of pods with an unknown program and a restart policy that lets them end. */
  readonly jobMs: number;
  /** Patterns of images whose pulls always fail. */
  readonly unpullable: ImagePatterns;
  /** Whether healthy pods get events (Pulled, Created, Started), which takes three more writes per pod. */
  readonly podEvents: boolean;
  /** Absent: nodes have no devices. */
  readonly devices?: HollowDevices;
  /** `kubelet`: in addition to the shared watches, the 18 watches of a real node, for each node. */
  readonly watchShape: WatchShape;
  /** Scheduled failures of nodes. */
  readonly failures: readonly ScheduledFailure[];
  /** Address that serves the kubelets of all nodes. Absent: no server listens at the address of a node. */
  readonly kubelet?: { readonly address: string; readonly port: number };
  readonly podWritesInFlightMax: number;
  readonly nodeWritesInFlightMax: number;
}

export const unpullableDefault = "*:non-existent,invalid.*";

export const hollowDefaults: Omit<HollowOptions, "count"> = {
  namePrefix: "hollow-",
  firstIndex: 0,
  cpu: "8",
  memory: "32Gi",
  ephemeralStorage: "100Gi",
  pods: 110,
  zones: 3,
  labels: {},
  taints: [],
  heartbeatMs: 10_000,
  statusMs: 300_000,
  startMs: 0,
  stopMs: 0,
  jobMs: 1_000,
  unpullable: imagePatterns(unpullableDefault),
  podEvents: false,
  failures: [],
  watchShape: "shared",
  podWritesInFlightMax: 128,
  nodeWritesInFlightMax: 64,
};
