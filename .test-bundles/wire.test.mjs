await import("file:///work/main/src/wire/json.test.ts");
await import("file:///work/main/src/wire/protobuf.test.ts");
await import("file:///work/main/src/wire/yaml.test.ts");
await import("file:///work/main/src/wire/buffer-pool.test.ts");
await import("file:///work/main/src/wire/etcd-codec.test.ts");
await import("file:///work/main/src/wire/etcd-range.test.ts");
