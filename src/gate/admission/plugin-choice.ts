/**
 * Selects the plugins of the chain: --enable-admission-plugins and --disable-admission-plugins.
 *
 * Holds  plugins for work that upstream does in its storage always run: the flags have no names for them.
 */
import type { AdmissionPlugin } from "./admission.ts";

export interface PluginChoice {
  readonly enable: readonly string[];
  readonly disable: readonly string[];
}

/** As upstream, off unless enabled. */
const offByDefault: ReadonlySet<string> = new Set([
  "AlwaysPullImages",
  "PodNodeSelector",
  "ExtendedResourceToleration",
  "OwnerReferencesPermissionEnforcement",
  "DenyServiceExternalIPs",
  "PodTolerationRestriction",
  "EventRateLimit",
]);

/** On by default. NodeRestriction is included, because kubeadm enables it. */
const onByDefault: ReadonlySet<string> = new Set([
  "NamespaceLifecycle",
  "LimitRanger",
  "ServiceAccount",
  "NodeRestriction",
  "TaintNodesByCondition",
  "PodSecurity",
  "Priority",
  "DefaultTolerationSeconds",
  "DefaultStorageClass",
  "StorageObjectInUseProtection",
  "PersistentVolumeClaimResize",
  "RuntimeClass",
  "CertificateApproval",
  "CertificateSigning",
  "ClusterTrustBundleAttest",
  "CertificateSubjectRestriction",
  "DefaultIngressClass",
  "PodTopologyLabels",
  "NodeDeclaredFeatureValidator",
  "PodResizeValidator",
  "PodGroupWorkloadExists",
  "MutatingAdmissionPolicy",
  "MutatingAdmissionWebhook",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionWebhook",
  "ResourceQuota",
]);

/** Plugins of upstream that do not exist here: they may be disabled but not enabled. */
const notServed: ReadonlySet<string> = new Set([
  "AlwaysAdmit",
  "AlwaysDeny",
  "NamespaceAutoProvision",
  "NamespaceExists",
  "LimitPodHardAntiAffinityTopology",
  "ImagePolicyWebhook",
]);

/**
 * Plugins that are on by default but do nothing. The feature gate of the first (WorkloadWithJob) is off in 1.36, and no
 * controller here removes the second plugin's finalizer from PodGroups.
 */
const gatedOff: ReadonlySet<string> = new Set(["JobValidation", "PodGroupProtection"]);

/** The first error of a choice, with upstream's text where it has one. */
export function choiceFault({ enable, disable }: PluginChoice): string | undefined {
  const isKnown = (name: string): boolean =>
    [offByDefault, onByDefault, notServed, gatedOff].some((names) => names.has(name));
  const unknown = (flag: string, names: readonly string[]): readonly string[] =>
    names
      .filter((name) => !isKnown(name))
      .map((name) => `${flag} plugin ${JSON.stringify(name)} is unknown`);
  const both = enable.filter((name) => disable.includes(name)).sort();
  const absent = enable.find((name) => notServed.has(name));
  return [
    ...unknown("enable-admission-plugins", enable),
    ...unknown("disable-admission-plugins", disable),
    ...(both.length === 0
      ? []
      : [
          `[${both.join(" ")}] in enable-admission-plugins and disable-admission-plugins overlapped`,
        ]),
    ...(absent === undefined
      ? []
      : [`enable-admission-plugins plugin ${JSON.stringify(absent)} is not served here`]),
  ][0];
}

export function chosenPlugins(
  plugins: readonly AdmissionPlugin[],
  { enable, disable }: PluginChoice,
): readonly AdmissionPlugin[] {
  return plugins.filter(({ name }) => isChosen(name, { enable, disable }));
}

export function isChosen(name: string, { enable, disable }: PluginChoice): boolean {
  if (disable.includes(name)) return !onByDefault.has(name) && !offByDefault.has(name);
  return !offByDefault.has(name) || enable.includes(name);
}
