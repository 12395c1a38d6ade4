/**
 * One RangeStream of everything, by a client that stops reading for a while halfway: prints one
 * StreamSample, with the server's memory as it was before and at its highest.
 */
import * as m from "../../../src/core/wire/etcd-messages.ts";
import { framed, prefixBytes } from "../../../src/core/wire/grpc.ts";
import { H2Client } from "./h2-client.ts";
import { rssMiB, sleep } from "./sample.ts";

export interface StreamOptions {
  readonly port: number;
  readonly serverPid: number;
  readonly pauseMs: number;
}

export interface StreamSample {
  readonly seconds: number;
  readonly mib: number;
  readonly rssBeforeMiB: number;
  readonly rssPeakMiB: number;
}

const pauseAfterBytes = 256 * 2 ** 20;
const { port, serverPid, pauseMs } = JSON.parse(process.argv[2] ?? "{}") as StreamOptions;

const client = new H2Client(port, "/etcdserverpb.KV/RangeStream");
const request = framed(m.rangeRequest.encode({ key: "\0", rangeEnd: "\0" }, prefixBytes));
const rssBeforeMiB = rssMiB(serverPid);
let rssPeakMiB = rssBeforeMiB;
let bytes = 0;
let paused = false;
let over = false;
const startMs = performance.now();
client.call(request, {
  data: (payload) => {
    bytes += payload.length;
    if (paused || bytes < pauseAfterBytes) return;
    paused = true;
    client.pause();
    setTimeout(() => client.resume(), pauseMs);
  },
  ended: () => {
    over = true;
  },
});
while (!over) {
  await sleep(10);
  rssPeakMiB = Math.max(rssPeakMiB, rssMiB(serverPid));
}
const seconds = (performance.now() - startMs) / 1000;
const mib = Math.round(bytes / 2 ** 20);
const sample: StreamSample = { seconds, mib, rssBeforeMiB, rssPeakMiB };
process.stdout.write(`${JSON.stringify(sample)}\n`);
process.exit(0);
