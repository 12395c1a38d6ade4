/** One systemd unit for each command. Arguments need no quotes, because systemd reads them unchanged. */
import type { RoleCommand } from "./role-commands.ts";

interface Program {
  /** The paths of Node.js and of the launcher. */
  readonly words: readonly string[];
  /** User ID of DIR's owner. Undefined: root. */
  readonly uid?: number;
}

export function unitText(command: RoleCommand, program: Program): string {
  const lines = [
    "# Written by pilothouse init: run it again instead of changing this file; see systemctl edit.",
    "[Unit]",
    `Description=${command.description}`,
    "Wants=network-online.target",
    "After=network-online.target etcd.service",
    "StartLimitIntervalSec=0",
    "",
    "[Service]",
    `ExecStart=${[...program.words, ...command.words].join(" \\\n  ")}`,
    "Restart=always",
    "RestartSec=2",
    ...(program.uid === undefined ? [] : [`User=${program.uid}`]),
    "LimitNOFILE=1048576",
    "NoNewPrivileges=yes",
    "ProtectSystem=strict",
    ...command.writes.map(({ path }) => `ReadWritePaths=${path}`),
    "",
    "[Install]",
    "WantedBy=multi-user.target",
  ];
  return `${lines.join("\n")}\n`;
}
