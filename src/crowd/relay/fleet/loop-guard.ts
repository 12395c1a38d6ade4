/**
 * Detects a relay that is its own upstream, over any number of hops.
 *
 *   request  ─ via: 1.1 pilothouse-ID ─►  a relay that finds its own ID refuses with 508
 *   answer   ◄─ via: its own ID and those of its upstreams ─  a relay that finds its own ID rejects the answer
 *
 * Why both  a request that passes through carries its route; but mirrors send requests of their own, so
 *           two relays that mirror each other can only find out from answers. Otherwise they would
 *           confirm each other's state forever.
 * Bounds    `hopsMax` relays one behind another.
 */
import { failure } from "#api/status.ts";
import type { ByteTransport } from "#platform/byte-transport.ts";
import type { Random } from "#platform/random.ts";

const hopsMax = 16;
const product = "pilothouse-";
const received = /(?:^|,)\s*[\w./]+\s+pilothouse-([0-9a-f]{16})/g;

export class LoopGuard {
  readonly #id: string;
  /** IDs of the relays upstream of this one, the nearest first, from the upstream's last answer. */
  #behind: readonly string[] = [];

  constructor({ random }: { readonly random: Random }) {
    this.#id = Buffer.from(random.bytes(8)).toString("hex");
  }

  /** `via` header of an answer to another relay. */
  get answer(): string {
    return [this.#id, ...this.#behind].map(viaOf).join(", ");
  }

  /** Throws 508 for a request that this relay has forwarded before. */
  check(via: string): void {
    const relays = relaysIn(via);
    if (!relays.includes(this.#id) && relays.length <= hopsMax) return;
    throw loop(this.#id, "the request came back here", relays);
  }

  /** Wraps `http`: adds this relay's ID to requests, and checks the IDs in answers. */
  around(http: ByteTransport): ByteTransport {
    return {
      send: async (request) => {
        const { via } = request.headers;
        const own = viaOf(this.#id);
        const headers = {
          ...request.headers,
          via: typeof via === "string" ? `${via}, ${own}` : own,
        };
        const response = await http.send({ ...request, headers });
        const refused = this.#learn(response.headers["via"] ?? "");
        if (refused === undefined) return response;
        // An unread body would keep its connection busy.
        response.read(0).catch(() => {});
        throw refused;
      },
      close: () => http.close(),
    };
  }

  #learn(via: string): Error | undefined {
    const relays = relaysIn(via);
    if (relays.includes(this.#id) || relays.length > hopsMax) {
      return loop(this.#id, "its upstream reads from it", relays);
    }
    this.#behind = relays;
    return undefined;
  }
}

function relaysIn(via: string): readonly string[] {
  return [...via.matchAll(received)].map(([, id = ""]) => id);
}

function viaOf(id: string): string {
  return `1.1 ${product}${id}`;
}

function loop(id: string, what: string, relays: readonly string[]): Error {
  const way = relays.join(", ");
  const text = `relay ${id} is its own upstream, or behind more than ${hopsMax}: ${what} (by ${way})`;
  return failure(508, "", text);
}
