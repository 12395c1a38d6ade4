await import("file:///work/main/src/registry/read.test.ts");
await import("file:///work/main/src/registry/rehoming.test.ts");
await import("file:///work/main/src/registry/dispatch-window.test.ts");
await import("file:///work/main/src/registry/watch.model.test.ts");
await import("file:///work/main/src/registry/write.test.ts");
