/** The extension's entry: puts the parts together and says what restarts the server. */

import { window, workspace, type ExtensionContext } from "vscode";

import { registerCommands } from "./commands.ts";
import { onPythonExtensionChange } from "./interpreters.ts";
import { Server } from "./server.ts";
import { INTERPRETER_SETTINGS, SHOW_LOG } from "./settings.ts";
import { StatusItem } from "./status.ts";

let server: Server | null = null;

export async function activate(context: ExtensionContext): Promise<void> {
  const log = window.createOutputChannel("Pallas Lens", { log: true });
  const status = new StatusItem(SHOW_LOG);
  const current = new Server(context, log, status);
  server = current;
  context.subscriptions.push(
    log,
    status,
    current,
    // Registered first, so that they work where the server does not start.
    ...registerCommands(context, current, log),
    workspace.onDidChangeConfiguration((event) => {
      if (INTERPRETER_SETTINGS.some((name) => event.affectsConfiguration(name))) {
        current.restartWhereChanged();
      }
    }),
    workspace.onDidChangeWorkspaceFolders(() => {
      current.restartWhereChanged();
    }),
    workspace.onDidGrantWorkspaceTrust(() => {
      current.restartWhereChanged();
    }),
  );
  await current.restart();
  const subscription = await onPythonExtensionChange(() => {
    current.restartWhereChanged();
  });
  if (subscription !== null) {
    context.subscriptions.push(subscription);
  }
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
