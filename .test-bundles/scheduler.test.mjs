await import("file:///work/main/src/scheduler/reference.test.ts");
await import("file:///work/main/src/scheduler/topology.test.ts");
await import("file:///work/main/src/scheduler/scheduler.test.ts");
