/** A real VS Code, served to a browser by code-server, with the extension's .vsix installed. */

import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const START_MILLISECONDS = 60_000;

/** Everything which takes VS Code's attention, or the network's, away from the extension. */
const QUIET_SETTINGS = {
  "workbench.startupEditor": "none",
  "workbench.enableExperiments": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.colorTheme": "Default Dark Modern",
  "telemetry.telemetryLevel": "off",
  "extensions.ignoreRecommendations": true,
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "update.mode": "none",
  "chat.disableAIFeatures": true,
  "editor.minimap.enabled": false,
  "editor.hover.sticky": true,
  "files.autoSave": "off",
  // Quick Open lists the files of the test only.
  "search.exclude": { "**/.venv": true },
  "search.followSymlinks": false,
};

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => process.exit(1));
}

export interface Options {
  /** Copied to be the workspace. */
  readonly workspace: string;
  /** Settings of the machine, where a remote window reads interpreters from. */
  readonly settings?: Record<string, unknown>;
  /** Files of the workspace by relative path, beside the copied ones. */
  readonly files?: Record<string, string>;
  /** Variables of the environment of the extension host. */
  readonly environment?: Record<string, string>;
  /** Folders of other extensions to install. */
  readonly extensions?: readonly string[];
  /** False: the workspace is opened in Restricted Mode. */
  readonly trusted?: boolean;
}

/** A running code-server; `close` ends it and removes its files. */
export class CodeServer {
  readonly url: string;
  readonly workspace: string;
  private readonly folder: string;
  private readonly process: ChildProcess;

  private constructor(url: string, workspace: string, folder: string, process: ChildProcess) {
    this.url = url;
    this.workspace = workspace;
    this.folder = folder;
    this.process = process;
  }

  static async start(options: Options): Promise<CodeServer> {
    const folder = await mkdtemp(path.join(tmpdir(), "pallas-lens-editor-"));
    const workspace = path.join(folder, "workspace");
    await cp(options.workspace, workspace, { recursive: true });
    await write(path.join(folder, "config.yaml"), "auth: none\n");
    await write(path.join(folder, "data", "User", "settings.json"), JSON.stringify(QUIET_SETTINGS));
    await write(
      path.join(folder, "data", "Machine", "settings.json"),
      JSON.stringify(options.settings ?? {}),
    );
    for (const [name, text] of Object.entries(options.files ?? {})) {
      await write(path.join(workspace, name), text);
    }

    const editor = required("PALLAS_LENS_EDITOR_DIR");
    const common = [
      path.join(editor, "node_modules", "code-server", "out", "node", "entry.js"),
      ...["--config", path.join(folder, "config.yaml")],
      ...["--user-data-dir", path.join(folder, "data")],
      ...["--extensions-dir", path.join(folder, "extensions")],
    ];
    for (const vsix of [
      required("PALLAS_LENS_VSIX"),
      ...(await Promise.all((options.extensions ?? []).map((one) => packaged(one, folder)))),
    ]) {
      await promisify(execFile)(process.execPath, [...common, "--install-extension", vsix]);
    }

    const port = await freePort();
    const child = spawn(
      process.execPath,
      [
        ...common,
        ...["--bind-addr", `127.0.0.1:${port}`],
        ...["--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"],
        // Else the extension host takes its PATH from a login shell.
        ...["--vscode-option", "force-disable-user-env"],
        ...(options.trusted === false ? [] : ["--disable-workspace-trust"]),
      ],
      {
        stdio: ["ignore", "pipe", "pipe"],
        // An empty address keeps the editor from asking the extension gallery.
        env: { ...process.env, EXTENSIONS_GALLERY: '{"serviceUrl":""}', ...options.environment },
        // A group of its own, to be ended as one.
        detached: true,
      },
    );
    // An interrupted test leaves no server behind.
    process.once("exit", () => {
      endGroup(child);
    });
    const log = createWriteStream(path.join(folder, "code-server.log"));
    child.stdout.pipe(log);
    child.stderr.pipe(log);
    const server = new CodeServer(`http://127.0.0.1:${port}`, workspace, folder, child);
    await server.untilHealthy();
    return server;
  }

  /** The address that opens the workspace. */
  address(): string {
    return `${this.url}/?folder=${encodeURIComponent(this.workspace)}`;
  }

  /** The path of a file of the workspace. */
  file(name: string): string {
    return path.join(this.workspace, name);
  }

  async close(): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      const ended = once(this.process, "exit");
      endGroup(this.process);
      await ended;
    }
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  private async untilHealthy(): Promise<void> {
    const deadline = performance.now() + START_MILLISECONDS;
    while (performance.now() < deadline && this.process.exitCode === null) {
      try {
        if ((await fetch(`${this.url}/healthz`)).ok) {
          return;
        }
      } catch {
        // Not listening yet.
      }
      await wait(100);
    }
    throw new Error(`code-server did not start; see ${this.folder}/code-server.log`);
  }
}

function endGroup(child: ChildProcess): void {
  if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
    process.kill(-child.pid, "SIGTERM");
  }
}

/** A variable which `npm run test:editor` sets. */
export function required(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === "") {
    throw new Error(`${name} is not set; start these tests with: npm run test:editor`);
  }
  return value;
}

/** The .vsix of an extension's folder. */
async function packaged(extension: string, target: string): Promise<string> {
  const vsce = fileURLToPath(import.meta.resolve("@vscode/vsce/vsce"));
  const vsix = path.join(target, `${path.basename(extension)}.vsix`);
  await promisify(execFile)(
    process.execPath,
    [
      ...[vsce, "package", "--no-dependencies", "--allow-missing-repository", "--skip-license"],
      ...["--out", vsix],
    ],
    { cwd: extension },
  );
  return vsix;
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  listener.close();
  await once(listener, "close");
  if (address === null || typeof address === "string") {
    throw new Error("the system gave no port");
  }
  return address.port;
}
