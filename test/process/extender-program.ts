/** A scheduler extender as a program of its own: keeps Pods off one node, and says what it was asked on stdout. */
import { createServer } from "node:http";

const [kept = ""] = process.argv.slice(2);

interface Arguments {
  readonly Pod: { readonly metadata: { readonly name: string } };
  readonly NodeNames: readonly string[];
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const asked = JSON.parse(Buffer.concat(chunks).toString()) as Arguments;
    console.log(`asked ${request.url} about ${asked.Pod.metadata.name}`);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(answerTo(request.url ?? "", asked)));
  });
});

function answerTo(url: string, { NodeNames: names }: Arguments): unknown {
  if (url.endsWith("/filter")) {
    const FailedNodes = { [kept]: "node(s) kept by the extender" };
    return { NodeNames: names.filter((name) => name !== kept), FailedNodes };
  }
  const favourite = names.toSorted().at(-1);
  return names.map((Host) => ({ Host, Score: Host === favourite ? 10 : 0 }));
}

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") console.log(`ready in port ${address?.port}`);
});
