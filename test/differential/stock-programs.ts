/** Where the stock programs are: PILOTHOUSE_KUBE_APISERVER and PILOTHOUSE_ETCD, or a folder PILOTHOUSE_STOCK with both. */
import { join } from "node:path";

export interface StockPrograms {
  readonly apiserver: string;
  readonly etcd: string;
}

export function stockPrograms(): StockPrograms | undefined {
  const {
    PILOTHOUSE_STOCK: folder,
    PILOTHOUSE_KUBE_APISERVER: apiserver,
    PILOTHOUSE_ETCD: etcd,
  } = process.env;
  if (apiserver !== undefined && etcd !== undefined) return { apiserver, etcd };
  if (folder === undefined) return undefined;
  return { apiserver: join(folder, "kube-apiserver"), etcd: join(folder, "etcd-bin") };
}

/** For tests that need them: why they are skipped, or false. */
export const withoutStock: string | false =
  stockPrograms() === undefined
    ? "no stock API server: set PILOTHOUSE_KUBE_APISERVER and PILOTHOUSE_ETCD"
    : false;
