/** Measures the cost of sealing and opening a value of 2.5 KB, by cipher. */
import { randomBytes } from "node:crypto";
import { seedCipher } from "./kms-envelope.ts";
import { cipherOf } from "./providers.ts";

const value = randomBytes(2_500);
const path = "/registry/core/secrets/default/some-secret";
const rounds = 20_000;

const ciphers = [
  ...(["aesgcm", "aescbc", "secretbox"] as const).map(
    (kind) => [kind, cipherOf(kind, randomBytes(32))] as const,
  ),
  ["kms, its envelope left out", seedCipher(randomBytes(32))] as const,
];
for (const [kind, cipher] of ciphers) {
  const count = kind === "secretbox" ? rounds / 20 : rounds;
  let sealed = cipher.seal(path, value);
  const microseconds = (f: () => void): string => {
    for (let at = 0; at < count / 10; at++) f();
    const before = process.cpuUsage();
    for (let at = 0; at < count; at++) f();
    return (process.cpuUsage(before).user / count).toFixed(1);
  };
  const seal = microseconds(() => (sealed = cipher.seal(path, value)));
  const open = microseconds(() => void cipher.open(path, sealed));
  console.log(`${kind}: sealed in ${seal} us, opened in ${open} us`);
}
