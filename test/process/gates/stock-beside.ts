/** A stock API server on an etcd of its own. */
import { join } from "node:path";
import type { StockPrograms } from "../peers.ts";
import { startProgram } from "../role-harness.ts";
import { freePort, startApiServer, type StockApiServer } from "../stock-apiserver.ts";

export type StockBeside = Pick<StockApiServer, "url" | "log" | "stop">;

export async function startStockBeside(
  { apiserver, etcd }: StockPrograms,
  directory: string,
  flags: readonly string[],
  { hasModes = true } = {},
): Promise<StockBeside> {
  const client = `http://127.0.0.1:${await freePort()}`;
  const peer = `http://127.0.0.1:${await freePort()}`;
  const storage = await startProgram(
    etcd,
    [
      `--data-dir=${join(directory, "etcd")}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
    ],
    /ready to serve client requests/,
  );
  try {
    const args = [`--etcd-servers=${client}`, ...flags];
    const server = await startApiServer(apiserver, directory, args, { hasModes });
    return {
      url: server.url,
      log: () => server.log(),
      async stop() {
        await server.stop();
        await storage.kill();
      },
    };
  } catch (error) {
    await storage.kill();
    throw error;
  }
}
