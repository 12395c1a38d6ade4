/** `pilothouse sink schema`: the JSON Schema of each source for consumers, from the API server's own schemas. */
import type { Client } from "#client/client.ts";
import { NoSchemaError, schemaOf } from "#sinks/schema.ts";
import { type DeclaredSink, nameOfSource } from "#sinks/sink-file.ts";
import { apiAccess, ApiConnection } from "../shared/api-access.ts";
import { productVersion } from "../shared/product.ts";
import type { ApiFlags } from "../shared/role-flags.ts";
import { UsageError } from "../shared/usage-error.ts";
import { kindOf, parseSinks } from "./sinks.ts";

type Named = readonly [name: string, schema: object];

export async function writeSchemas(file: string, flags: ApiFlags): Promise<void> {
  const sinks = parseSinks(file);
  const userAgent = `sink/pilothouse-${productVersion}`;
  const connection = new ApiConnection(await apiAccess(flags), userAgent);
  try {
    const client = connection.client();
    const named: Named[] = [];
    for (const sink of sinks) named.push(...(await schemasOf(client, sink)));
    const schemas = Object.fromEntries(named);
    process.stdout.write(`${JSON.stringify({ schemas }, undefined, 2)}\n`);
  } finally {
    connection.close();
  }
}

async function schemasOf(
  client: Client,
  { name, format, source, resources }: DeclaredSink,
): Promise<readonly Named[]> {
  const named: Named[] = [];
  for (const one of resources) {
    const { group, version } = one.ref;
    const path = group === "" ? `api/${version}` : `apis/${group}/${version}`;
    try {
      const kind = await kindOf(client, one.ref);
      const document = await client.raw(`/openapi/v3/${path}`);
      const encoding = { format, source, ref: one.ref, kind, fields: one.fields };
      named.push([`${name} ${nameOfSource(one)}`, schemaOf(encoding, document)]);
    } catch (error) {
      if (!(error instanceof NoSchemaError)) throw error;
      throw new UsageError(`sink ${name}: ${error.message}`, { cause: error });
    }
  }
  return named;
}
