/** The signatures that ConfigMap kube-public/cluster-info should carry. Pure. */
import type { ConfigMap } from "#api/gen/types.ts";
import type { SigningToken } from "./tokens.ts";

/** Signs `content` with a token: `header..signature`, detached. */
export type SignDetached = (content: string, tokenId: string, tokenSecret: string) => string;

const contentKey = "kubeconfig";
const signaturePrefix = "jws-kubeconfig-";

/** The map with exactly one signature per token; undefined: it is up to date, or has no kubeconfig. */
export function signedClusterInfo(
  map: ConfigMap,
  tokens: readonly SigningToken[],
  sign: SignDetached,
): ConfigMap | undefined {
  const { data = {} } = map;
  const content = data[contentKey];
  if (content === undefined) return undefined;
  const others = Object.entries(data).filter(([key]) => !key.startsWith(signaturePrefix));
  const signatures = tokens.map(
    ({ id, secret }) => [`${signaturePrefix}${id}`, sign(content, id, secret)] as const,
  );
  const isSigned = signatures.every(([key, signature]) => data[key] === signature);
  const isWhole = others.length + signatures.length === Object.keys(data).length;
  if (isSigned && isWhole) return undefined;
  return { ...map, data: Object.fromEntries([...others, ...signatures]) };
}
