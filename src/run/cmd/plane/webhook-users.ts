/** The users of a kubeconfig, as credentials for webhooks. Like upstream, ignores its clusters. */
import { createSecureContext } from "node:tls";
import { dirname, resolve } from "node:path";
import { list, record, SettingsError, text } from "#admission/settings-fields.ts";
import type { CredentialUsers } from "#extension/webhooks/credentials.ts";
import type { Credentials } from "#extension/webhooks/trusts.ts";
import { readOperatorFile } from "../shared/operator-file.ts";

type Fields = ReturnType<typeof record>;

/** Fields that this server does not support for webhooks. Ignoring one would send the request without that credential. */
const notServed = ["exec", "auth-provider", "as", "as-uid", "as-groups", "as-user-extra"];

/** @throws SettingsError, UsageError */
export function webhookUsers(path: string, value: unknown): CredentialUsers {
  const root = record(value, "");
  const users = new Map<string, Credentials>();
  for (const [at, each] of list(root, "users", "").entries()) {
    const fields = record(each, `users[${at}]`);
    const name = text(fields, "name", `users[${at}]`);
    const user = record(fields["user"] ?? {}, `users[${at}].user`);
    if (!users.has(name)) users.set(name, credentialsOf(user, name, dirname(path)));
  }
  const otherwise = users.get(currentUser(root));
  return otherwise === undefined ? { users } : { users, otherwise };
}

function currentUser(root: Fields): string {
  const current = text(root, "current-context", "");
  for (const [at, each] of list(root, "contexts", "").entries()) {
    const fields = record(each, `contexts[${at}]`);
    if (current === "" || text(fields, "name", `contexts[${at}]`) !== current) continue;
    return text(record(fields["context"] ?? {}, `contexts[${at}].context`), "user", "");
  }
  return "";
}

function credentialsOf(user: Fields, name: string, directory: string): Credentials {
  const at = `user ${JSON.stringify(name)}`;
  const odd = notServed.find((field) => Object.hasOwn(user, field));
  if (odd !== undefined) throw new SettingsError(`${at}: ${odd} is not served here`);
  const pem = (field: string): string => pemOf(user, field, directory);
  const [certificate, key] = [pem("client-certificate"), pem("client-key")];
  if ((certificate === "") !== (key === ""))
    throw new SettingsError(`${at}: a client certificate and its key come together`);
  const shown = certificate === "" ? {} : { certificate, key };
  if (certificate !== "") checkPair(at, certificate, key);
  const authorization = authorizationOf(user, directory);
  return authorization === undefined ? shown : { ...shown, authorization };
}

function checkPair(at: string, cert: string, key: string): void {
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw new SettingsError(`${at}: ${(error as Error).message}`, { cause: error });
  }
}

function authorizationOf(user: Fields, directory: string): (() => string) | undefined {
  const token = text(user, "token", "");
  if (token !== "") return bearer(token);
  const file = text(user, "tokenFile", "");
  if (file !== "") return bearer(readOperatorFile(resolve(directory, file)).trim());
  const [name, password] = [text(user, "username", ""), text(user, "password", "")];
  if (name === "" && password === "") return undefined;
  const basic = `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`;
  return () => basic;
}

function bearer(token: string): () => string {
  if (!/^[\x21-\x7e]+$/.test(token)) throw new SettingsError("a token is printable ASCII");
  return () => `Bearer ${token}`;
}

function pemOf(user: Fields, field: string, directory: string): string {
  const data = text(user, `${field}-data`, "");
  if (data !== "") return Buffer.from(data, "base64").toString();
  const file = text(user, field, "");
  return file === "" ? "" : readOperatorFile(resolve(directory, file));
}
