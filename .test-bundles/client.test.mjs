await import("file:///work/main/src/client/informer.test.ts");
await import("file:///work/main/src/client/json-frames.test.ts");
await import("file:///work/main/src/client/events.test.ts");
await import("file:///work/main/src/client/election.test.ts");
await import("file:///work/main/src/client/backoff.test.ts");
await import("file:///work/main/src/client/paced-handler.test.ts");
await import("file:///work/main/src/client/transports.test.ts");
await import("file:///work/main/src/client/workqueue.test.ts");
