/** Detached signatures of cluster-info: upstream's known answers, and an independent verifier. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { flattenedVerify } from "jose";
import { signDetached } from "./cluster-info-signature.ts";

const content = "Hello from the other side. I must have called a thousand times.";
const header = "eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9";

test("a signature is byte for byte the one upstream makes", () => {
  const signature = (text: string, secret = "my voice is my passcode"): string =>
    signDetached(text, "joshua", secret);
  assert.equal(signature(content), `${header}..VShe2taLd-YTrmWuRkcL_8QTNDHYxQIEBsAYYiIj1_8`);
  assert.equal(signature(""), `${header}..7Ui1ALizW4jXphVUB7xUqC9vLYLL9RZeOFfVLoB7Tgk`);
  assert.equal(signature(content, ""), `${header}..UfkqvDGiIFxrMnFseDj9LYJOLNrvjW8aHhF71mvvAs8`);
});

test("a verifier of JWS takes it with the content put back, and with no other content", async () => {
  const [protectedHeader = "", , signature = ""] = signDetached("k", "abcdef", "s3cret").split(".");
  const key = new TextEncoder().encode("s3cret");
  const verify = (payload: string) =>
    flattenedVerify(
      {
        protected: protectedHeader,
        payload: Buffer.from(payload).toString("base64url"),
        signature,
      },
      key,
    );
  await verify("k");
  await assert.rejects(verify("K"), /signature verification failed/);
});
