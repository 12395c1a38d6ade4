/**
 * Signs ConfigMap kube-public/cluster-info with a bootstrap token: a JWS (RFC 7515) with HS256 and a detached payload,
 * as kubeadm checks it.
 */
import { createHmac } from "node:crypto";

export function signDetached(content: string, tokenId: string, tokenSecret: string): string {
  const header = base64url(JSON.stringify({ alg: "HS256", kid: tokenId }));
  const signed = `${header}.${base64url(content)}`;
  const signature = createHmac("sha256", tokenSecret).update(signed).digest("base64url");
  return `${header}..${signature}`;
}

function base64url(text: string): string {
  return Buffer.from(text).toString("base64url");
}
