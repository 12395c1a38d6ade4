/**
 * Definitions that projects publish, by Go module: which files hold them, and which folders hold samples. Modules are
 * fetched with `go mod download`, so Go's own settings choose the registry and the cache. Nothing of them is kept here.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Document, parseAllDocuments } from "yaml";
import { run } from "../process/harness.ts";

export interface Project {
  readonly name: string;
  readonly module: string;
  /** Files, or folders of which all files are read (not what is below). */
  readonly definitions: readonly string[];
  /** Folders, read to the bottom; a document counts when its kind is one of the definitions'. */
  readonly samples: readonly string[];
}

/** Versions are pinned: a later run sees the same definitions. */
export const projects: readonly Project[] = [
  {
    name: "cert-manager",
    module: "github.com/cert-manager/cert-manager@v1.21.2",
    definitions: ["deploy/crds"],
    samples: ["test/fixtures"],
  },
  {
    name: "Gateway API",
    module: "sigs.k8s.io/gateway-api@v1.3.0",
    definitions: ["config/crd/standard"],
    samples: ["examples/standard"],
  },
  {
    name: "Argo CD",
    module: "github.com/argoproj/argo-cd/v2@v2.14.10",
    definitions: ["manifests/crds"],
    samples: ["applicationset/examples"],
  },
  {
    name: "Prometheus operator",
    module: "github.com/prometheus-operator/prometheus-operator@v0.85.0",
    definitions: ["example/prometheus-operator-crd"],
    samples: ["example/user-guides", "example/thanos", "example/shards", "example/storage"],
  },
  {
    name: "Istio",
    module: "istio.io/api@v1.31.1",
    definitions: ["kubernetes/customresourcedefinitions.gen.yaml"],
    samples: [],
  },
  {
    name: "Knative Serving",
    module: "knative.dev/serving@v0.51.0",
    definitions: ["config/core/300-resources"],
    samples: ["test/test_images"],
  },
  {
    name: "Flux kustomize",
    module: "github.com/fluxcd/kustomize-controller@v1.6.0",
    definitions: ["config/crd/bases"],
    samples: ["config/samples", "config/testdata"],
  },
  {
    name: "Cluster API",
    module: "sigs.k8s.io/cluster-api@v1.14.2",
    definitions: [
      "core/config/crd/bases",
      "bootstrap/kubeadm/config/crd/bases",
      "controlplane/kubeadm/config/crd/bases",
    ],
    samples: [],
  },
  {
    name: "Velero",
    module: "github.com/vmware-tanzu/velero@v1.18.3",
    definitions: ["config/crd/v1/bases", "config/crd/v2alpha1/bases"],
    samples: ["tilt-resources/examples"],
  },
  {
    name: "Gatekeeper",
    module: "github.com/open-policy-agent/gatekeeper/v3@v3.23.1",
    definitions: ["charts/gatekeeper/crds"],
    samples: ["test/expansion", "demo/basic"],
  },
  {
    name: "KEDA",
    module: "github.com/kedacore/keda/v2@v2.21.0",
    definitions: ["config/crd/bases"],
    samples: ["config/samples"],
  },
  {
    name: "External Secrets",
    module: "github.com/external-secrets/external-secrets@v1.3.2",
    definitions: ["config/crds/bases"],
    samples: ["docs/snippets"],
  },
  {
    name: "Karpenter",
    module: "sigs.k8s.io/karpenter@v1.6.4",
    definitions: ["pkg/apis/crds"],
    samples: [],
  },
  {
    name: "Kyverno",
    module: "github.com/kyverno/kyverno@v1.19.1",
    definitions: [
      "config/crds/kyverno",
      "config/crds/policies.kyverno.io",
      "config/crds/policyreport",
      "config/crds/reports",
    ],
    samples: [],
  },
  {
    name: "External Snapshotter",
    module: "github.com/kubernetes-csi/external-snapshotter/client/v8@v8.7.0",
    definitions: ["config/crd"],
    samples: [],
  },
  {
    name: "Cilium",
    module: "github.com/cilium/cilium@v1.20.2",
    definitions: [
      "pkg/k8s/apis/cilium.io/client/crds/v2",
      "pkg/k8s/apis/cilium.io/client/crds/v2alpha1",
    ],
    samples: ["examples/policies"],
  },
];

export interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string; readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
}

export interface Sample {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name?: string; readonly namespace?: string };
}

/** The folder of the module, or why there is none. */
export function fetchModule(module: string, cwd: string): { folder: string } | { reason: string } {
  const { stdout, stderr } = run("go", ["mod", "download", "-json", module], { cwd });
  const start = stdout.indexOf("{");
  if (start === -1) return { reason: stderr.trim().split("\n", 1)[0] ?? "no answer" };
  const { Dir, Error: reason } = JSON.parse(stdout.slice(start)) as {
    Dir?: string;
    Error?: string;
  };
  return Dir === undefined || reason !== undefined
    ? { reason: reason?.split("\n", 1)[0] ?? "no folder" }
    : { folder: Dir };
}

/** Files that hold definitions and nothing else. */
export function definitionFiles(folder: string, project: Project): string[] {
  return project.definitions
    .flatMap((path) => filesOf(join(folder, path), false))
    .filter((path) => {
      const kinds = documentsOf(path).map(({ kind }) => kind);
      return kinds.length > 0 && kinds.every((kind) => kind === "CustomResourceDefinition");
    });
}

export function definitionsOf(files: readonly string[]): Definition[] {
  return files.flatMap((path) => documentsOf(path) as unknown as Definition[]);
}

/** One of each name: the last one, as an apply of all of them leaves it. */
export function samplesOf(
  folder: string,
  project: Project,
  definitions: readonly Definition[],
): Sample[] {
  const known = new Set(
    definitions.flatMap(({ spec }) =>
      spec.versions
        .filter(({ served }) => served)
        .map(({ name }) => `${spec.group}/${name} ${spec.names.kind}`),
    ),
  );
  const found = project.samples
    .flatMap((path) => filesOf(join(folder, path), true))
    .flatMap((path) => documentsOf(path))
    .filter(({ apiVersion, kind }) => known.has(`${apiVersion} ${kind}`))
    .filter(({ metadata }) => metadata?.name !== undefined);
  const keyOf = ({ kind, metadata }: Sample): string =>
    `${kind} ${metadata.namespace ?? ""} ${metadata.name ?? ""}`;
  return [...new Map(found.map((sample) => [keyOf(sample), sample])).values()];
}

function filesOf(path: string, isDeep: boolean): string[] {
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { withFileTypes: true })
    .flatMap((entry) => {
      const below = join(path, entry.name);
      if (entry.isDirectory()) return isDeep ? filesOf(below, true) : [];
      return /\.ya?ml$/.test(entry.name) ? [below] : [];
    })
    .toSorted();
}

/** Files that are no YAML (templates) hold none. */
function documentsOf(path: string): Sample[] {
  const parsed = parseAllDocuments(readFileSync(path, "utf8"));
  const documents: Document[] = Array.isArray(parsed) ? parsed : [];
  if (documents.some(({ errors }) => errors.length > 0)) return [];
  return documents
    .map((one) => one.toJS() as Sample | null)
    .filter((one): one is Sample => typeof one?.kind === "string");
}
