/** Decodes messages with Envoy's own definitions, which npm's proxyless client includes. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { loadSync } from "@grpc/proto-loader";
import { contentFor } from "../resource.ts";
import type { ResourceMaker } from "../resource-maker.ts";
import { anyValue } from "./test-client.ts";

const deps = join(import.meta.dirname, "../../../../node_modules/@grpc/grpc-js-xds/deps");
const definitions = loadSync(
  [
    "envoy/config/cluster/v3/cluster.proto",
    "envoy/config/endpoint/v3/endpoint.proto",
    "envoy/config/listener/v3/listener.proto",
    "envoy/config/route/v3/route.proto",
    "envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.proto",
    "envoy/extensions/filters/http/router/v3/router.proto",
  ],
  {
    keepCase: true,
    enums: String,
    longs: String,
    json: true,
    includeDirs: ["envoy-api", "xds", "googleapis", "protoc-gen-validate"].map((one) =>
      join(deps, one),
    ),
  },
);

/** Returns a member of a decoded message by its path, such as `endpoints.0.locality`. */
export function at(message: unknown, path: string): unknown {
  let found = message;
  for (const name of path.split(".")) found = (found as Readonly<Record<string, unknown>>)[name];
  return found;
}

/** Returns the values at `paths` for each element of a repeated member. */
export function each(
  message: unknown,
  list: string,
  ...paths: readonly string[]
): readonly unknown[] {
  return (at(message, list) as readonly unknown[]).map((one) => paths.map((path) => at(one, path)));
}

export function decode(typeUrl: string, value: Uint8Array): unknown {
  const name = typeUrl.slice(typeUrl.lastIndexOf("/") + 1);
  const definition = definitions[name] as unknown as {
    deserialize(bytes: Buffer): unknown;
  };
  return definition.deserialize(Buffer.from(value));
}

/** Returns the decoded resource of that name. */
export function resource(made: ResourceMaker, type: string, name: string, zone = ""): unknown {
  const found = made.table(type).get(name);
  assert.ok(found, `${type} ${name}`);
  // A field of a response: tag, length, Any.
  const field = contentFor(found, zone).stateField;
  const any = field.subarray(field.length - lengthOf(field));
  return decode(type, anyValue(any));
}

function lengthOf(field: Uint8Array): number {
  let [length, shift] = [0, 0];
  for (let place = 1; ; place++, shift += 7) {
    const byte = field[place] ?? 0;
    length += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return length;
  }
}
