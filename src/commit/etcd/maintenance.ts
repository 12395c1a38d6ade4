/** The Maintenance service: status, alarms, hashes, snapshots. Methods that do not apply here say so. */
import type { Clock } from "#platform/clock.ts";
import type { FullStore } from "#store/full-store.ts";
import * as m from "#wire/etcd-messages.ts";
import { alarmName, type Alarm, type Alarms } from "./alarms.ts";
import { serverStream, unary, type Method, type ServerStream } from "./call.ts";
import { hashKeySpace } from "./hash-kv.ts";
import type { Identity } from "./identity.ts";
import { etcdError } from "./rpc-error.ts";
import { sendSnapshot, type SnapshotLimits } from "./snapshot.ts";

/** The etcd release whose behaviour is implemented; clients enable features by it. */
export const etcdVersion = "3.6.5";
export const storageVersion = "3.6.0";

/** Reported as the cluster version. */
const clusterVersion = "3.6";
/** The last downgrade action; 0 asks whether a downgrade is possible, 1 starts it. */
const downgradeCancel = 2;

type Downgraded = m.Of<typeof m.downgradeResponse>;

interface MaintenanceDeps {
  readonly clock: Clock;
  readonly store: FullStore;
  readonly alarms: Alarms;
  readonly identity: Identity;
}

interface MaintenanceOptions extends SnapshotLimits {
  /** The member that holds the log; absent: this one. */
  readonly leader?: () => bigint;
  /** Absent: this server is the only member. */
  readonly moveLeader?: (targetId: bigint) => Promise<void>;
  readonly quotaBytes: number;
}

export class MaintenanceService {
  readonly #deps: MaintenanceDeps;
  readonly #options: MaintenanceOptions;

  constructor(deps: MaintenanceDeps, options: MaintenanceOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  methods(): Readonly<Record<string, Method>> {
    return {
      Status: unary(m.empty, m.statusResponse, () => this.#status()),
      Alarm: unary(m.alarmRequest, m.alarmResponse, (request) => this.#alarm(request)),
      // A no-op, because compaction returns memory and disk space by itself.
      Defragment: unary(m.empty, m.headerResponse, () => ({})),
      Hash: unary(m.empty, m.hashResponse, () => this.#hash()),
      HashKV: unary(m.hashKvRequest, m.hashKvResponse, ({ revision }) => this.#hashKv(revision)),
      Snapshot: serverStream((_empty, call) => this.#snapshot(call)),
      MoveLeader: unary(m.moveLeaderRequest, m.headerResponse, ({ targetId }) =>
        this.#moveLeader(targetId),
      ),
      Downgrade: unary(m.downgradeRequest, m.downgradeResponse, (request) =>
        this.#downgrade(request),
      ),
    };
  }

  async #moveLeader(targetId: bigint): Promise<object> {
    const { moveLeader } = this.#options;
    if (moveLeader !== undefined) await moveLeader(targetId);
    else if (targetId !== this.#deps.identity.memberId) throw etcdError("badLeaderTransferee");
    return {};
  }

  #snapshot(call: ServerStream): () => void {
    const gone = new AbortController();
    const { store, clock } = this.#deps;
    void sendSnapshot({ store, clock, call, gone: gone.signal }, this.#options, storageVersion);
    return () => gone.abort();
  }

  #status(): m.Of<typeof m.statusResponse> {
    const { store, alarms, identity } = this.#deps;
    const stats = store.stats();
    const index = BigInt(store.commitRevision);
    return {
      header: this.#header(),
      version: etcdVersion,
      dbSize: Math.max(stats.engine.storedBytes, stats.bytes),
      dbSizeInUse: stats.bytes,
      leader: this.#options.leader?.() ?? identity.memberId,
      raftIndex: index,
      raftAppliedIndex: index,
      raftTerm: identity.raftTerm,
      errors: alarms.active.map(
        ({ memberId, alarm }) => `memberID:${memberId} alarm:${alarmName(alarm)} `,
      ),
      isLearner: false,
      storageVersion,
      dbSizeQuota: this.#options.quotaBytes,
      downgradeInfo: { enabled: false, targetVersion: "" },
    };
  }

  async #alarm(request: m.Of<typeof m.alarmRequest>): Promise<m.Of<typeof m.alarmResponse>> {
    const alarms = this.#alarmed(request);
    await this.#deps.alarms.settled();
    return { header: this.#header(), alarms };
  }

  /** @returns the alarms asked for or changed. */
  #alarmed({ action, memberId, alarm }: m.Of<typeof m.alarmRequest>): readonly Alarm[] {
    const { alarms } = this.#deps;
    const one = { memberId, alarm };
    switch (action) {
      case m.AlarmAction.get:
        return alarms.active.filter(
          (active) => alarm === m.AlarmType.none || active.alarm === alarm,
        );
      case m.AlarmAction.activate:
        if (alarm === m.AlarmType.none) return [];
        alarms.activate(one);
        return [one];
      case m.AlarmAction.deactivate:
        return alarms.deactivate(one) ? [one] : [];
      default:
        return [];
    }
  }

  /** There is no older format to downgrade to and so nothing to cancel; etcd answers that without an error. */
  #downgrade({ action, version }: m.Of<typeof m.downgradeRequest>): Downgraded {
    if (action < 0 || action > downgradeCancel) throw etcdError("unknownMethod");
    if (action === downgradeCancel) return { header: this.#header(), version: clusterVersion };
    const known = /^\d+\.\d+(\.\d+)?$/.test(version);
    throw etcdError(known ? "invalidDowngradeTarget" : "downgradeFormat");
  }

  #hash(): m.Of<typeof m.hashResponse> {
    return { header: this.#header(), hash: hashKeySpace(this.#deps.store, 0, -1).hash };
  }

  #hashKv(revision: number): m.Of<typeof m.hashKvResponse> {
    const { store, identity } = this.#deps;
    const compactRevision = identity.compactRevision(store);
    if (revision > 0 && revision < compactRevision) throw etcdError("compacted");
    if (revision > store.commitRevision) throw etcdError("futureRevision");
    const { hash, hashRevision } = hashKeySpace(store, revision, compactRevision);
    return { header: this.#header(), hash, compactRevision, hashRevision };
  }

  #header(): m.Header {
    return this.#deps.identity.header(this.#deps.store.commitRevision);
  }
}
