await import("file:///work/main/src/watch/shared-object.test.ts");
await import("file:///work/main/src/watch/dispatcher.test.ts");
await import("file:///work/main/src/watch/sorted-set.test.ts");
await import("file:///work/main/src/watch/latest.test.ts");
await import("file:///work/main/src/watch/cache.model.test.ts");
await import("file:///work/main/src/watch/cache.test.ts");
await import("file:///work/main/src/watch/event-ring.test.ts");
