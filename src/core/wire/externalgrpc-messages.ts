/**
 * The messages of cluster-autoscaler's externalgrpc provider protocol
 * (clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider), field by field.
 */
import {
  bool,
  bytes,
  double,
  int,
  many,
  message,
  type Message,
  nested,
  text,
} from "./etcd-codec.ts";

const service = "/clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider/";

interface MapEntry {
  readonly key: string;
  readonly value: string;
}

/** An entry of a `map<string, string>`. */
const entry: Message<MapEntry> = message({ key: text(1), value: text(2) });
/** The form of both google.protobuf.Timestamp and Duration. */
const moment = message({ seconds: int(1), nanos: int(2) });
const anyValue = message({ typeUrl: text(1), value: bytes(2) });
const gpuType = message({ key: text(1), value: nested(2, () => anyValue) });

const nodeGroup = message({ id: text(1), minSize: int(2), maxSize: int(3), debug: text(4) });
const externalNode = message({
  providerId: text(1),
  name: text(2),
  labels: many(3, () => entry),
  annotations: many(4, () => entry),
});

/** Values of an instance's state. */
export const InstanceState = { unspecified: 0, running: 1, creating: 2, deleting: 3 } as const;
/** Classes of an instance's error, as numbered by cluster-autoscaler. */
export const ErrorClass = { outOfResources: 1, other: 99 } as const;

const errorInfo = message({ errorCode: text(1), errorMessage: text(2), errorClass: int(3) });
const status = message({ state: int(1), errorInfo: nested(2, () => errorInfo) });
const instance = message({ id: text(1), status: nested(2, () => status) });
const groupOptions = message({
  scaleDownUtilizationThreshold: double(1),
  scaleDownGpuUtilizationThreshold: double(2),
  zeroOrMaxNodeScaling: bool(6),
  ignoreDaemonSetsUtilization: bool(7),
  scaleDownUnneeded: nested(8, () => moment),
  scaleDownUnready: nested(9, () => moment),
  maxNodeProvision: nested(10, () => moment),
});

const empty = message({});
const ofGroup = message({ id: text(1) });
const resize = message({ delta: int(1), id: text(2) });

export interface Method<Q, A> {
  readonly path: string;
  readonly request: Message<Q>;
  readonly response: Message<A>;
}

function method<Q, A>(name: string, request: Message<Q>, response: Message<A>): Method<Q, A> {
  return { path: `${service}${name}`, request, response };
}

export const methods = {
  nodeGroups: method("NodeGroups", empty, message({ nodeGroups: many(1, () => nodeGroup) })),
  nodeGroupForNode: method(
    "NodeGroupForNode",
    message({ node: nested(1, () => externalNode) }),
    message({ nodeGroup: nested(1, () => nodeGroup) }),
  ),
  nodePrice: method(
    "PricingNodePrice",
    message({
      node: nested(1, () => externalNode),
      start: nested(4, () => moment),
      end: nested(5, () => moment),
    }),
    message({ price: double(1) }),
  ),
  podPrice: method(
    "PricingPodPrice",
    message({ pod: bytes(4), start: nested(5, () => moment), end: nested(6, () => moment) }),
    message({ price: double(1) }),
  ),
  gpuLabel: method("GPULabel", empty, message({ label: text(1) })),
  gpuTypes: method("GetAvailableGPUTypes", empty, message({ gpuTypes: many(1, () => gpuType) })),
  cleanup: method("Cleanup", empty, empty),
  refresh: method("Refresh", empty, empty),
  targetSize: method("NodeGroupTargetSize", ofGroup, message({ targetSize: int(1) })),
  increaseSize: method("NodeGroupIncreaseSize", resize, empty),
  deleteNodes: method(
    "NodeGroupDeleteNodes",
    message({ nodes: many(1, () => externalNode), id: text(2) }),
    empty,
  ),
  decreaseTargetSize: method("NodeGroupDecreaseTargetSize", resize, empty),
  nodes: method("NodeGroupNodes", ofGroup, message({ instances: many(1, () => instance) })),
  templateNodeInfo: method("NodeGroupTemplateNodeInfo", ofGroup, message({ node: bytes(2) })),
  getOptions: method(
    "NodeGroupGetOptions",
    message({ id: text(1), defaults: nested(2, () => groupOptions) }),
    message({ options: nested(1, () => groupOptions) }),
  ),
} as const;
