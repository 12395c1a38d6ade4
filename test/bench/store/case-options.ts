/** What every case of the store's benchmark is given. */

export interface CaseOptions {
  /** The real etcd beside which ours is measured. */
  readonly etcd: string | undefined;
  readonly runs: number;
  readonly seconds: number;
  /** Of `etcdctl check perf`. */
  readonly loads: readonly string[];
}
