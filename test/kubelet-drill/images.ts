/**
 * Container images without a registry: one with busybox, one with CoreDNS, each a tar in OCI's layout that
 * `ctr images import` reads. The sandbox ("pause") is busybox that sleeps.
 */
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { must } from "./shell.ts";

export const pauseImage = "drill.local/pause:1";
export const busyboxImage = "drill.local/busybox:1";
export const coreDnsImage = "drill.local/coredns:1";

interface Image {
  readonly name: string;
  readonly layer: string;
  readonly command: readonly string[];
}

/** @returns the folder with one tar per image. */
export async function makeImages(folder: string, bin: string, busybox: string): Promise<string> {
  const output = join(folder, "images");
  mkdirSync(output, { recursive: true });
  const shell = join(folder, "layers", "busybox");
  await makeShell(shell, busybox);
  const dns = join(folder, "layers", "coredns");
  mkdirSync(dns, { recursive: true });
  copyFileSync(join(bin, "coredns"), join(dns, "coredns"));
  chmodSync(join(dns, "coredns"), 0o755);
  const images = [
    { name: pauseImage, layer: shell, command: ["/bin/sleep", "2147483647"] },
    { name: busyboxImage, layer: shell, command: ["sh"] },
    { name: coreDnsImage, layer: dns, command: ["/coredns"] },
  ];
  for (const image of images) await writeImage(folder, output, image);
  return output;
}

async function makeShell(folder: string, busybox: string): Promise<void> {
  for (const name of ["bin", "etc", "tmp", "proc", "sys", "dev", "root", "var/run"]) {
    mkdirSync(join(folder, name), { recursive: true });
  }
  copyFileSync(busybox, join(folder, "bin", "busybox"));
  chmodSync(join(folder, "bin", "busybox"), 0o755);
  chmodSync(join(folder, "tmp"), 0o1777);
  writeFileSync(join(folder, "etc", "passwd"), "root:x:0:0:root:/root:/bin/sh\n");
  writeFileSync(join(folder, "etc", "group"), "root:x:0:\n");
  const names = (await must(busybox, ["--list"])).trim().split("\n");
  for (const name of names.filter((one) => one !== "busybox")) {
    symlinkSync("busybox", join(folder, "bin", name));
  }
}

async function writeImage(folder: string, output: string, image: Image): Promise<void> {
  const layout = join(folder, "layout");
  const blobs = join(layout, "blobs", "sha256");
  mkdirSync(blobs, { recursive: true });
  const layerTar = join(folder, "layer.tar");
  const owner = ["--owner=0", "--group=0", "--numeric-owner", "--sort=name"];
  await must("tar", [...owner, "-C", image.layer, "-cf", layerTar, "."]);
  const put = (bytes: Uint8Array): { digest: string; size: number } => {
    const hex = createHash("sha256").update(bytes).digest("hex");
    writeFileSync(join(blobs, hex), bytes);
    return { digest: `sha256:${hex}`, size: bytes.length };
  };
  const putJson = (value: unknown): { digest: string; size: number } =>
    put(Buffer.from(JSON.stringify(value)));
  const layer = put(readFileSync(layerTar));
  const platform = { architecture: process.arch === "arm64" ? "arm64" : "amd64", os: "linux" };
  const config = putJson({
    ...platform,
    config: { Env: ["PATH=/bin:/sbin:/usr/bin"], Cmd: image.command },
    rootfs: { type: "layers", diff_ids: [layer.digest] },
  });
  const oci = "application/vnd.oci.image";
  const manifest = putJson({
    schemaVersion: 2,
    mediaType: `${oci}.manifest.v1+json`,
    config: { mediaType: `${oci}.config.v1+json`, ...config },
    layers: [{ mediaType: `${oci}.layer.v1.tar`, ...layer }],
  });
  const annotations = { "io.containerd.image.name": image.name };
  const entry = { mediaType: `${oci}.manifest.v1+json`, ...manifest, platform, annotations };
  writeFileSync(join(layout, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
  writeFileSync(
    join(layout, "index.json"),
    JSON.stringify({ schemaVersion: 2, mediaType: `${oci}.index.v1+json`, manifests: [entry] }),
  );
  const [name = ""] = (image.name.split("/")[1] ?? "").split(":");
  await must("tar", ["-C", layout, "-cf", join(output, `${name}.tar`), "."]);
  rmSync(layout, { recursive: true });
  rmSync(layerTar);
}
