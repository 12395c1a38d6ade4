/** What hollow nodes look like and how fast their pods are. All given; `hollowDefaults` is for `cmd`. */
import type { Taint } from "#api/gen/types.ts";
import type { HollowDevices } from "./devices.ts";
import type { ScheduledFailure } from "./failure-schedule.ts";
import type { ImagePatterns } from "./image-pull.ts";
import type { WatchShape } from "./watch-shape.ts";
import { imagePatterns } from "./image-pull.ts";

export interface HollowOptions {
  readonly count: number;
  /** Nodes are `<prefix><index>`. */
  readonly namePrefix: string;
  /** Index of the first node: several processes share one cluster by ranges. */
  readonly firstIndex: number;
  /** Quantities. */
  readonly cpu: string;
  readonly memory: string;
  readonly ephemeralStorage: string;
  readonly pods: number;
  /** Quantities of further, extended resources. */
  readonly resources?: Readonly<Record<string, string>>;
  /** Nodes are dealt over this many zones. */
  readonly zones: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** Lease renewal; kubelet: 10 s. */
  readonly heartbeatMs: number;
  /** Node status though nothing changed; kubelet: 5 min. */
  readonly statusMs: number;
  /** From bound to running; 0 saves the ContainerCreating write. */
  readonly startMs: number;
  /** From deletion asked for to the end of containers that end as soon as they are asked to. */
  readonly stopMs: number;
  /** How long pods run whose program is not known and whose restart policy lets them end. */
  readonly jobMs: number;
  /** Images that are never pulled. */
  readonly unpullable: ImagePatterns;
  /** Events of a pod that does well (Pulled, Created, Started): three more writes a pod. */
  readonly podEvents: boolean;
  /** Absent: nodes have none. */
  readonly devices?: HollowDevices;
  /** `kubelet`: beside the shared watches, those of real nodes, 18 each. */
  readonly watchShape: WatchShape;
  /** What goes wrong with nodes, and when. */
  readonly failures: readonly ScheduledFailure[];
  /** Where the kubelets of all nodes are served; absent: nobody listens at a node's own address. */
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
