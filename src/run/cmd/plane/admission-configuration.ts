/**
 * `--admission-control-config-file`: an AdmissionConfiguration, the configurations of plugins in it or in
 * files beside it, and the kubeconfigs of the webhook plugins.
 *
 * Fails  with UsageError at the start: a plugin without its configuration would let through what the
 *        operator meant to refuse.
 */
import { dirname, isAbsolute, resolve } from "node:path";
import { dictionary, ownEntry } from "#base/own.ts";
import { isChosen, type PluginChoice } from "#admission/plugin-choice.ts";
import { type AdmissionSettings, settingsReaders, typed } from "#admission/settings.ts";
import { list, record, SettingsError, text } from "#admission/settings-fields.ts";
import type { WebhooksDeps } from "#extension/webhooks/plugins.ts";
import { credentialsFor } from "#extension/webhooks/credentials.ts";
import { parseYaml, repeatedKeysMessage } from "#wire/yaml.ts";
import { webhookUsers } from "./webhook-users.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import { UsageError } from "../shared/usage-error.ts";

export interface AdmissionConfiguration {
  readonly settings: AdmissionSettings;
  readonly credentials?: WebhooksDeps["credentials"];
}

/** The older version is of the API group that upstream used first for these files. */
const apiVersions = ["apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"];
const limits = { bytesMax: 1024 * 1024, depthMax: 32, aliasMax: 100 };

const webhookPlugins = {
  MutatingAdmissionWebhook: "mutating",
  ValidatingAdmissionWebhook: "validating",
} as const;

/** Reads the file of admission settings. `path` undefined: no file. Like upstream, ignores plugins that do not run. */
export function admissionConfiguration(
  path: string | undefined,
  choice: PluginChoice,
): AdmissionConfiguration {
  const plugins = path === undefined ? [] : pluginsOf(path);
  const settings: AdmissionSettings[] = [];
  const credentials = dictionary<(hostPort: string) => ReturnType<typeof credentialsFor>>();
  // EventRateLimit is refused without a configuration too.
  const names = new Set([...plugins.map(({ name }) => name), "EventRateLimit"]);
  for (const name of names) {
    if (!isChosen(name, choice)) continue;
    const found = plugins.find((plugin) => plugin.name === name);
    initialized(name, () => {
      const type = ownEntry(webhookPlugins, name);
      const read = ownEntry(settingsReaders, name);
      if (read === undefined && type === undefined) return;
      const value = found?.value();
      if (value === undefined && name !== "EventRateLimit") return;
      if (read !== undefined) settings.push(read(value));
      if (type === undefined) return;
      const users = usersOf(value);
      if (users !== undefined) credentials[type] = (target) => credentialsFor(users, target);
    });
  }
  return {
    settings: Object.assign({}, ...settings) as AdmissionSettings,
    ...(Object.keys(credentials).length === 0 ? {} : { credentials }),
  };
}

interface ConfiguredPlugin {
  readonly name: string;
  /** Returns the plugin's configuration. Undefined: the file only names the plugin. */
  readonly value: () => unknown;
}

function pluginsOf(path: string): readonly ConfiguredPlugin[] {
  const source = readConfiguration(path);
  try {
    const value = yamlValue(source);
    if (isLegacy(value)) return [{ name: "PodNodeSelector", value: () => value }];
    const root = typed(value, "AdmissionConfiguration", apiVersions);
    onlyFields(root, ["apiVersion", "kind", "plugins"], "");
    return list(root, "plugins", "").map((each, at) => pluginOf(each, `plugins[${at}]`, path));
  } catch (error) {
    if (error instanceof SettingsError)
      throw new UsageError(`failed to read plugin config: ${error.message}`, { cause: error });
    throw error;
  }
}

/** Whether the value is PodNodeSelector's own file, which upstream accepts too. */
function isLegacy(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return !("kind" in value) && "podNodeSelectorPluginConfig" in value;
}

function readConfiguration(path: string): string {
  try {
    return readOperatorFile(path);
  } catch (error) {
    const why = `[${(error as Error).message}]`;
    const what = `unable to read admission control configuration from ${JSON.stringify(path)}`;
    throw new UsageError(`failed to read plugin config: ${what} ${why}`, { cause: error });
  }
}

function pluginOf(value: unknown, at: string, file: string): ConfiguredPlugin {
  const fields = record(value, at);
  onlyFields(fields, ["name", "path", "configuration"], at);
  const inline = fields["configuration"] ?? undefined;
  const path = text(fields, "path", at);
  const name = text(fields, "name", at);
  if (inline !== undefined) return { name, value: () => record(inline, `${at}.configuration`) };
  if (path === "") return { name, value: () => undefined };
  const from = isAbsolute(path) ? path : resolve(dirname(file), path);
  return { name, value: () => yamlValue(readOperatorFile(from)) };
}

function onlyFields(fields: object, known: readonly string[], at: string): void {
  const unknown = Object.keys(fields).filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const texts = unknown.map((name) => `unknown field "${at === "" ? name : `${at}.${name}`}"`);
  throw new SettingsError(`strict decoding error: ${texts.join(", ")}`);
}

function yamlValue(source: string): unknown {
  const read = parseYaml(source, limits);
  if (read.kind !== "ok") throw new SettingsError(read.message);
  const { repeatedKeys = [] } = read;
  if (repeatedKeys.length > 0)
    throw new SettingsError(`error converting YAML to JSON: ${repeatedKeysMessage(repeatedKeys)}`);
  return read.value;
}

function initialized(name: string, read: () => void): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof SettingsError) && !(error instanceof UsageError)) throw error;
    const what = `couldn't init admission plugin ${JSON.stringify(name)}`;
    throw new UsageError(`${what}: ${error.message}`, { cause: error });
  }
}

function usersOf(value: unknown): ReturnType<typeof webhookUsers> | undefined {
  const root = typed(value, "WebhookAdmissionConfiguration", ["apiserver.config.k8s.io/v1"]);
  onlyFields(root, ["apiVersion", "kind", "kubeConfigFile", "staticManifestsDir"], "");
  if (text(root, "staticManifestsDir", "") !== "")
    throw new SettingsError("staticManifestsDir: not served here");
  const path = text(root, "kubeConfigFile", "");
  if (path === "") return undefined;
  if (!isAbsolute(path)) {
    const what = `kubeConfigFile: Invalid value: ${JSON.stringify(path)}`;
    throw new SettingsError(`${what}: must be an absolute file path`);
  }
  return webhookUsers(path, yamlValue(readOperatorFile(path)));
}
