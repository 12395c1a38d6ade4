/** The listener of a relay: its address, its certificate, and the requests that it refuses without TLS. */
import { canSharePort, httpLimits, listen, type Listening } from "#platform/node/http/http.ts";
import type { Log } from "#platform/log.ts";
import type { Relay } from "#relay/relay.ts";
import { isLoopback } from "../shared/loopback.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import type { ListenFlags, RelayFlags } from "./flags.ts";
import type { Address } from "./workers.ts";
import { UsageError } from "../shared/usage-error.ts";

export const xdsFlag = "--xds-listen";

/** A relay is made for very many clients, so it allows more connections. */
export const relayHttpLimits = { ...httpLimits, connectionsMax: 60_000 };

export async function addressOf(flags: ListenFlags, flag = "--listen"): Promise<Address> {
  const match = /^\[?([^\]]*?)\]?:([0-9]{1,5})$/.exec(flags.listen);
  const [, host = "", port = ""] = match ?? [];
  if (match === null || Number(port) > 65_535) {
    throw new UsageError(`${flag} must be ADDRESS:PORT, not ${flags.listen}`);
  }
  const address = { host: host === "" ? "0.0.0.0" : host, port: Number(port) };
  if ((flags.cert === undefined) !== (flags.key === undefined)) {
    throw new UsageError("give both --cert and --key, or neither");
  }
  if (flags.cert === undefined && flags.tlsCurvePreferences !== undefined) {
    throw new UsageError("--tls-curve-preferences is for TLS: give --cert and --key with it");
  }
  if (flags.cert === undefined && !(await isLoopback(address.host, flag))) {
    throw new UsageError(
      `${flag} ${flags.listen}: bearer tokens must not cross a network in the clear: give --cert and --key, or listen on 127.0.0.1`,
    );
  }
  return address;
}

export function listenTo(
  flags: RelayFlags,
  address: Address,
  running: Relay,
  log: Log,
  isWorker = false,
): Promise<Listening> {
  const secure =
    flags.cert === undefined || flags.key === undefined
      ? {}
      : { cert: readOperatorFile(flags.cert), key: readOperatorFile(flags.key) };
  const clientCa =
    flags.clientCa === undefined ? {} : { clientCa: readOperatorFile(flags.clientCa) };
  const curves =
    flags.tlsCurvePreferences === undefined ? {} : { tls: { curves: flags.tlsCurvePreferences } };
  return listen(
    {
      ...address,
      ...(isWorker && canSharePort ? { sharesPort: true } : {}),
      ...secure,
      ...clientCa,
      ...curves,
      limits: relayHttpLimits,
      ownHttp1: true,
      ledger: running.ledger,
    },
    running.handler,
    log,
  );
}
