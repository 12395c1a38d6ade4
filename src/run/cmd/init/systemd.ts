/** One systemd unit for each command. Words need no quotes: systemd reads them as they are. */
import type { RoleCommand } from "./role-commands.ts";

interface Program {
  /** Node and the launcher. */
  readonly words: readonly string[];
  /** Who owns DIR; undefined: root. */
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
