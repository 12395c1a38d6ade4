/**
 * An API server of one resource whose history is made up: a list of Pods, and as many changes of them as were
 * asked for, sent as fast as they are read, from whatever resourceVersion the watch begins.
 */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { podOf } from "../client/pods-server.ts";

export interface EventServer {
  readonly url: string;
  /** Lets the watches have all changes up to this many. */
  release(changes: number): void;
  close(): void;
}

const framesPerWrite = 64;
/** Of the list; changes go on from there. */
const firstVersion = 10;
const mark = 987_654_321;

export async function startEventServer(pods: number): Promise<EventServer> {
  const list = JSON.stringify({
    kind: "PodList",
    apiVersion: "v1",
    metadata: { resourceVersion: String(firstVersion) },
    items: Array.from({ length: pods }, (_, at) => podOf(at, 1)),
  });
  // Of each Pod's frame, what stands around its resourceVersion.
  const parts = Array.from({ length: pods }, (_, at) => {
    const object = podOf(at, 1);
    const metadata = { ...object.metadata, resourceVersion: String(mark) };
    const frame = JSON.stringify({ type: "MODIFIED", object: { ...object, metadata } });
    return `${frame}\n`.split(String(mark)) as [string, string];
  });
  let released = firstVersion;
  let more = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    response.setHeader("content-type", "application/json");
    const query = new URL(request.url ?? "", "http://server").searchParams;
    if (query.get("watch") !== "true") return void response.end(list);
    void send(response, Number(query.get("resourceVersion")) + 1);
  });
  async function send(response: ServerResponse, from: number): Promise<void> {
    for (let next = from; !response.destroyed;) {
      if (next > released) {
        await more.promise;
        continue;
      }
      let frames = "";
      for (let n = 0; n < framesPerWrite && next <= released; n++, next++) {
        const [before, behind] = parts[next % pods] as [string, string];
        frames += `${before}${next}${behind}`;
      }
      if (!response.write(frames)) await drained(response);
    }
  }
  function drained(response: ServerResponse): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        response.off("drain", done).off("close", done);
        resolve();
      };
      response.once("drain", done).once("close", done);
    });
  }
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    release(changes) {
      released = firstVersion + changes;
      more.resolve();
      more = Promise.withResolvers();
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
