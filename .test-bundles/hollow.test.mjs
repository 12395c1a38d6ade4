await import("file:///work/main/src/hollow/hollow.test.ts");
await import("file:///work/main/src/hollow/wheel.test.ts");
