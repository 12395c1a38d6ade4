/** A collection of many small objects, made once for all cases that read it. */
import { type Api, json } from "../attack.ts";

export async function makeConfigMaps(plane: Api, namespace: string, count: number): Promise<void> {
  const made = JSON.stringify({ metadata: { name: namespace } });
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  await plane.send({
    method: "POST",
    path: "/api/v1/namespaces",
    contentType: json,
    body: () => made,
  });
  await atOnce(count, 16, (at) => {
    const metadata = { name: `o${at}`, labels: { app: `a${at % 10}`, tier: "x" } };
    const object = JSON.stringify({ metadata, data: { key: "value".repeat(20) } });
    return plane.send({ method: "POST", path, contentType: json, body: () => object });
  });
}

/** Calls `ask` with 0 to `count` - 1, so many of them under way. */
export async function atOnce(
  count: number,
  underWay: number,
  ask: (at: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < count) await ask(next++);
  };
  await Promise.all(Array.from({ length: underWay }, one));
}
