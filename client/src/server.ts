/** Starts, stops and restarts the language server. */

import * as path from "node:path";

import {
  commands,
  env,
  Uri,
  window,
  workspace,
  type Disposable,
  type ExtensionContext,
  type LogOutputChannel,
} from "vscode";
import {
  LanguageClient,
  RevealOutputChannelOn,
  State,
  type LanguageClientOptions,
  type ServerOptions,
} from "vscode-languageclient/node";

import { findInterpreters, versionText, type Found, type Interpreter } from "./interpreters.ts";
import { allSettings, SECTION, SHOW_LOG } from "./settings.ts";
import {
  STATUS_NOTIFICATION,
  isServerStatus,
  type ServerStatus,
  type StatusItem,
} from "./status.ts";

/** A burst of changed settings and interpreters counts as one. */
const QUIET_MILLISECONDS = 400;

interface Running {
  readonly client: LanguageClient;
  /** What it was started with, to see whether a restart would change anything. */
  readonly key: string;
}

/** One language server for the window; every method may be called at any time. */
export class Server implements Disposable {
  private readonly context: ExtensionContext;
  private readonly log: LogOutputChannel;
  private readonly status: StatusItem;
  private running: Running | null = null;
  private found: Found | null = null;
  private queue: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | null = null;

  constructor(context: ExtensionContext, log: LogOutputChannel, status: StatusItem) {
    this.context = context;
    this.log = log;
    this.status = status;
  }

  /** Start, or start anew; resolves when it runs or has failed, and never rejects. */
  restart(): Promise<void> {
    return this.inTurn(() => this.stopAndStart(true));
  }

  /** Restart once things have been quiet for a moment, and only where something else would be started. */
  restartWhereChanged(): void {
    if (this.timer !== null) {
      clearTimeout(this.timer);
    }
    this.timer = setTimeout(() => {
      this.timer = null;
      void this.inTurn(() => this.stopAndStart(false));
    }, QUIET_MILLISECONDS);
  }

  /** Stop, and wait until the process has gone. */
  stop(): Promise<void> {
    return this.inTurn(() => this.stopNow());
  }

  dispose(): void {
    if (this.timer !== null) {
      clearTimeout(this.timer);
    }
  }

  /** Lines for a report of a fault: versions, paths, state. */
  debugInformation(): string[] {
    const line = (name: string, interpreter: Interpreter | null | undefined): string =>
      interpreter === null || interpreter === undefined
        ? `${name}: none`
        : `${name}: Python ${versionText(interpreter)}, ${interpreter.executable}, from ${interpreter.origin}`;
    return [
      `workspace trusted: ${workspace.isTrusted ? "yes" : "no"}`,
      line("server interpreter", this.found?.server),
      line("interpreter", this.found?.user),
      `server: ${this.running === null ? "not running" : State[this.running.client.state].toLowerCase()}`,
      `server version: ${this.running?.client.initializeResult?.serverInfo?.version ?? "unknown"}`,
    ];
  }

  /** One start or stop at a time, in the order they were asked for. */
  private inTurn(action: () => Promise<void>): Promise<void> {
    this.queue = this.queue.then(action).catch((error: unknown) => {
      this.log.error(error instanceof Error ? error : String(error));
    });
    return this.queue;
  }

  private async stopAndStart(evenUnchanged: boolean): Promise<void> {
    const trusted = workspace.isTrusted;
    const found = await findInterpreters(trusted, this.log);
    const key = JSON.stringify([found.server?.executable, found.user?.executable, trusted]);
    if (!evenUnchanged && this.running?.key === key) {
      return;
    }
    await this.stopNow();
    this.found = found;
    if (found.server === null) {
      const problem = found.problem ?? "Pallas Lens found no Python.";
      this.status.failed("no Python found that can run the server");
      this.log.error(problem);
      void offer(problem, "Open Settings");
      return;
    }
    await this.start(found.server, found, trusted, key);
  }

  private async start(
    interpreter: Interpreter,
    found: Found,
    trusted: boolean,
    key: string,
  ): Promise<void> {
    this.log.info(
      `Starting the server with Python ${versionText(interpreter)}, ${interpreter.executable}, from ${interpreter.origin}.`,
    );
    this.status.starting();
    const client = new LanguageClient(
      SECTION,
      "Pallas Lens",
      this.serverOptions(interpreter),
      this.clientOptions(found, trusted),
    );
    this.running = { client, key };
    let reported: ServerStatus | null = null;
    client.onNotification(STATUS_NOTIFICATION, (status: { version: number }) => {
      if (isServerStatus(status)) {
        reported = status;
        this.status.running(serverVersion(client), found, status);
      }
    });
    try {
      await client.start();
      this.status.running(serverVersion(client), found, reported);
    } catch (error) {
      this.running = null;
      this.status.failed("the server did not start");
      this.log.error(
        `The server did not start: ${error instanceof Error ? error.message : String(error)}`,
      );
      void offer("The Pallas Lens server did not start. The log says why.", "Show Log");
    }
  }

  private async stopNow(): Promise<void> {
    const running = this.running;
    this.running = null;
    if (running !== null) {
      try {
        await running.client.dispose();
      } catch (error) {
        // A server that has crashed cannot answer "shutdown"; there is nothing left to stop.
        this.log.warn(`While the server was stopped: ${String(error)}`);
      }
      this.status.stopped();
    }
  }

  private serverOptions(interpreter: Interpreter): ServerOptions {
    const bundled = this.context.asAbsolutePath("bundled");
    return {
      command: interpreter.executable,
      // Isolated mode keeps PYTHONPATH, the user's site and the folder the server starts in out of its imports.
      args: ["-I", "-X", "utf8", path.join(bundled, "launch.py"), "server"],
      options: { cwd: bundled },
    };
  }

  private clientOptions(found: Found, trusted: boolean): LanguageClientOptions {
    return {
      documentSelector: [
        { scheme: "file", language: "python" },
        { scheme: "untitled", language: "python" },
        { scheme: "vscode-notebook-cell", language: "python" },
      ],
      outputChannel: this.log,
      // A request that failed is told in the log; it is no reason to interrupt who types.
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      // Settings are pushed, as every editor can; the server need not ask.
      // eslint-disable-next-line @typescript-eslint/no-deprecated
      synchronize: { configurationSection: SECTION },
      initializationOptions: {
        trusted,
        interpreter: found.user?.executable ?? null,
        settings: allSettings(),
        // The folder of the pages which explain the rules, one a rule.
        docs: Uri.file(this.context.asAbsolutePath("docs/rules")).toString(),
        // Hovers show images which stand in the text itself.
        showsImages: true,
      },
      // start() rejects as well, and says it once.
      initializationFailedHandler: () => false,
    };
  }
}

/** An error message with a button that helps. */
async function offer(message: string, button: "Open Settings" | "Show Log"): Promise<void> {
  if ((await window.showErrorMessage(message, button)) !== button) {
    return;
  }
  if (button === "Show Log") {
    await commands.executeCommand(SHOW_LOG);
  } else {
    // Interpreters are settings of the machine, which a remote window does not list among the user's.
    const where = env.remoteName === undefined ? "openSettings" : "openRemoteSettings";
    const query = `${SECTION}.serverInterpreter`;
    await commands.executeCommand(`workbench.action.${where}`, { query });
  }
}

function serverVersion(client: LanguageClient): string {
  return client.initializeResult?.serverInfo?.version ?? "";
}
