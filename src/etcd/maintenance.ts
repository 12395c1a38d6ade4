/** The Maintenance service: status, alarms, hashes, snapshots; what does not apply here says so. */
import type { FullStore } from "#store/embedded.ts";
import * as m from "#wire/etcd-messages.ts";
import type { Alarms } from "./alarms.ts";
import { stream, unary, type Method } from "./call.ts";
import { hashKeySpace } from "./hash-kv.ts";
import type { Identity } from "./identity.ts";
import { etcdError } from "./rpc-error.ts";
import { sendSnapshot } from "./snapshot.ts";

/** The etcd release whose behaviour this is: clients switch features on by it. */
export const etcdVersion = "3.6.5";
const storageVersion = "3.6.0";

export interface MaintenanceDeps {
  readonly store: FullStore;
  readonly alarms: Alarms;
  readonly identity: Identity;
}

export class MaintenanceService {
  readonly #deps: MaintenanceDeps;
  readonly #options: { readonly quotaBytes: number };

  constructor(deps: MaintenanceDeps, options: { readonly quotaBytes: number }) {
    this.#deps = deps;
    this.#options = options;
  }

  methods(): Readonly<Record<string, Method>> {
    return {
      Status: unary(m.empty, m.statusResponse, () => this.#status()),
      Alarm: unary(m.alarmRequest, m.alarmResponse, (request) => this.#alarm(request)),
      // Compaction gives back memory and disk by itself: there is nothing left to do.
      Defragment: unary(m.empty, m.headerResponse, () => ({})),
      Hash: unary(m.empty, m.hashResponse, () => this.#hash()),
      HashKV: unary(m.hashKvRequest, m.hashKvResponse, ({ revision }) => this.#hashKv(revision)),
      Snapshot: stream((call) => ({
        message: () => void sendSnapshot(this.#deps.store, call, storageVersion),
        halfClosed: () => undefined,
        closed: () => undefined,
      })),
      MoveLeader: unary(m.moveLeaderRequest, m.headerResponse, ({ targetId }) => {
        if (targetId !== this.#deps.identity.memberId) throw etcdError("badLeaderTransferee");
        return {};
      }),
      Downgrade: unary(m.downgradeRequest, m.headerResponse, ({ action }) => {
        throw etcdError(action === 2 ? "noInflightDowngrade" : "invalidDowngradeTarget");
      }),
    };
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
      leader: identity.memberId,
      raftIndex: index,
      raftAppliedIndex: index,
      raftTerm: identity.raftTerm,
      errors: alarms.active.map(
        (type) => `memberID:${identity.memberId} alarm:${alarmName(type)} `,
      ),
      isLearner: false,
      storageVersion,
      dbSizeQuota: this.#options.quotaBytes,
      downgradeInfo: { enabled: false, targetVersion: "" },
    };
  }

  #alarm(request: m.Of<typeof m.alarmRequest>): m.Of<typeof m.alarmResponse> {
    const { alarms, identity } = this.#deps;
    const { memberId } = identity;
    const changed = this.#alarmed(request);
    const types =
      request.action === m.AlarmAction.get
        ? alarms.active.filter(
            (type) => request.alarm === m.AlarmType.none || type === request.alarm,
          )
        : changed
          ? [request.alarm]
          : [];
    return { header: this.#header(), alarms: types.map((alarm) => ({ memberId, alarm })) };
  }

  /** @returns whether the alarm was changed. */
  #alarmed({ action, memberId, alarm }: m.Of<typeof m.alarmRequest>): boolean {
    const { alarms, identity } = this.#deps;
    if (action === m.AlarmAction.activate) {
      return alarm !== m.AlarmType.none && memberId === identity.memberId && alarms.activate(alarm);
    }
    if (action !== m.AlarmAction.deactivate) return false;
    return memberId === identity.memberId && alarms.deactivate(alarm);
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

function alarmName(type: number): string {
  return type === m.AlarmType.noSpace ? "NOSPACE" : "CORRUPT";
}
