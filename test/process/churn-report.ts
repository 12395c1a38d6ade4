/** What a churn soak tells while it runs, and whether what was kept is bounded. Pure: text and numbers in, figures and faults out. */

/** All in bytes but the objects. */
export interface Kept {
  readonly resident: number;
  readonly heapUsed: number;
  readonly heapTotal: number;
  readonly external: number;
  readonly arrayBuffers: number;
  /** Resident memory that is neither heap nor array buffers nor external: code, stacks, what the allocator keeps. */
  readonly rest: number;
  readonly storeLive: number;
  readonly storeHeld: number;
  readonly history: number;
  readonly log: number;
  readonly checkpoints: number;
  readonly objects: number;
}

/** Of a page of metrics; a metric that is absent is an error, for the page promises it. */
export function keptOf(page: string): Kept {
  const resident = sampleOf(page, "process_resident_memory_bytes");
  const heapTotal = sampleOf(page, "nodejs_heap_size_total_bytes");
  const external = sampleOf(page, "nodejs_external_memory_bytes");
  const arrayBuffers = sampleOf(page, "nodejs_array_buffers_bytes");
  return {
    resident,
    heapUsed: sampleOf(page, "nodejs_heap_size_used_bytes"),
    heapTotal,
    external,
    arrayBuffers,
    rest: resident - heapTotal - external - arrayBuffers,
    storeLive: sampleOf(page, "pilothouse_store_live_bytes"),
    storeHeld: sampleOf(page, "pilothouse_store_held_bytes"),
    history: sampleOf(page, "pilothouse_store_history_bytes"),
    log: sampleOf(page, "pilothouse_store_log_bytes"),
    checkpoints: sampleOf(page, "pilothouse_store_checkpoint_bytes"),
    objects: sumOf(page, "apiserver_storage_objects"),
  };
}

function sampleOf(page: string, name: string): number {
  const found = new RegExp(`^${name} (\\S+)$`, "m").exec(page)?.[1];
  if (found === undefined) throw new Error(`no metric ${name}`);
  return Number(found);
}

function sumOf(page: string, name: string): number {
  const samples = page.matchAll(new RegExp(`^${name}\\{[^}]*\\} (\\d+)$`, "gm"));
  return [...samples].reduce((sum, [, value]) => sum + Number(value), 0);
}

/** What a process holds, and what its directory takes on the disk, in bytes. */
export interface Footprint {
  readonly resident: number;
  readonly disk: number;
}

/** How many times what a fresh process takes. */
export interface Shares {
  readonly resident: number;
  readonly disk: number;
}

/** Of samples: the collector's work moves single ones by some ten megabytes. */
export function medianOf(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}

/** Why the process that saw the churn keeps more than a fresh one may; empty: it does not. */
export function faultsOf(
  churned: Footprint,
  fresh: Footprint,
  sharesMax: Shares,
): readonly string[] {
  const found: string[] = [];
  for (const what of ["resident", "disk"] as const) {
    const share = churned[what] / fresh[what];
    if (share <= sharesMax[what]) continue;
    const beside = `${megabytes(churned[what])} MB beside ${megabytes(fresh[what])} MB fresh`;
    found.push(`${what}: ${beside}, ${share.toFixed(2)} times, at most ${sharesMax[what]}`);
  }
  return found;
}

/** With one digit. */
export function megabytes(bytes: number): number {
  return Math.round(bytes / 1e5) / 10;
}

const columns = [
  ["rss", "resident"],
  ["heap", "heapUsed"],
  ["of", "heapTotal"],
  ["ext", "external"],
  ["bufs", "arrayBuffers"],
  ["rest", "rest"],
  ["live", "storeLive"],
  ["held", "storeHeld"],
  ["hist", "history"],
  ["log", "log"],
  ["ckpt", "checkpoints"],
] as const satisfies readonly (readonly [string, keyof Kept])[];

export function tableHead(): string {
  const names = ["minute", "phase", ...columns.map(([name]) => name), "objects"];
  return `MB\n${names.map((name) => name.padStart(8)).join("")}`;
}

export function tableRow(minute: number, phase: string, kept: Kept): string {
  const figures = columns.map(([, field]) => megabytes(kept[field]).toFixed(1));
  const cells = [minute.toFixed(1), phase, ...figures, String(kept.objects)];
  return cells.map((cell) => cell.padStart(8)).join("");
}
