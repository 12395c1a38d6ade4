/** The number of streams of the other relays, read from /relay/load of each. */
import { given } from "#base/given.ts";
import type { ByteTransport } from "#platform/byte-transport.ts";
import { httpClient, httpClientLimits } from "#platform/node/http/http-client.ts";
import { UsageError } from "../shared/usage-error.ts";

/** Maximum wait for a peer. A peer that does not answer by then is omitted from this round. */
const answerMs = 3_000;
const answerBytesMax = 64;

/** @param urls comma-separated `https://host:port`. Throws UsageError. */
export function peerStreams(
  urls: string,
  ca: string | undefined,
): () => Promise<readonly number[]> {
  const peers = urls.split(",").map((url) => peer(url.trim(), ca));
  return async () => {
    const answers = await Promise.allSettled(peers.map(streamsOf));
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  };
}

function peer(server: string, ca: string | undefined): ByteTransport {
  if (!URL.canParse(server) || !/^https?:$/.test(new URL(server).protocol)) {
    throw new UsageError(`--peers must be URLs as https://host:port, not ${server}`);
  }
  const trust = given({ ca });
  return httpClient({ server, ...trust, limits: { ...httpClientLimits, headMs: answerMs } });
}

async function streamsOf(http: ByteTransport): Promise<number> {
  const signal = AbortSignal.timeout(answerMs);
  const target = "/relay/load";
  const response = await http.send({ method: "GET", target, headers: {}, signal });
  const body = await response.read(answerBytesMax);
  const text = body === "too-large" ? "" : new TextDecoder().decode(body);
  if (response.status !== 200 || !/^\d+\n$/.test(text)) throw new Error("no relay answers there");
  return Number(text);
}
