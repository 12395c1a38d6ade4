await import("file:///work/main/src/admission/plugins.test.ts");
await import("file:///work/main/src/admission/node-restriction.test.ts");
await import("file:///work/main/src/admission/service-addresses.test.ts");
await import("file:///work/main/src/admission/pod-security.test.ts");
await import("file:///work/main/src/admission/default-plugins.test.ts");
await import("file:///work/main/src/admission/resource-quota.test.ts");
