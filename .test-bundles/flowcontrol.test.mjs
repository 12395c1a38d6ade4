await import("file:///work/main/src/flowcontrol/gate.test.ts");
await import("file:///work/main/src/flowcontrol/fair-queue.test.ts");
