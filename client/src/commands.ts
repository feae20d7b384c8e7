/** The commands of the palette. What runs a kernel is the server's command, registered by the language client. */

import {
  commands,
  env,
  version,
  window,
  workspace,
  type Disposable,
  type ExtensionContext,
  type LogOutputChannel,
} from "vscode";

import type { Server } from "./server.ts";
import { SECTION, SHOW_LOG } from "./settings.ts";

export function registerCommands(
  context: ExtensionContext,
  server: Server,
  log: LogOutputChannel,
): Disposable[] {
  return [
    commands.registerCommand(`${SECTION}.restart`, () => server.restart()),
    commands.registerCommand(SHOW_LOG, () => {
      log.show();
    }),
    commands.registerCommand(`${SECTION}.showDebugInformation`, async () => {
      // A document can be copied into a report of a fault, and read where there is no log.
      const content = debugInformation(context, server).join("\n");
      await window.showTextDocument(await workspace.openTextDocument({ content }));
    }),
  ];
}

function debugInformation(context: ExtensionContext, server: Server): string[] {
  const manifest = context.extension.packageJSON as { readonly version: string };
  return [
    `Pallas Lens: ${manifest.version}`,
    `editor: ${env.appName} ${version}`,
    `platform: ${process.platform} ${process.arch}, Node ${process.versions.node}`,
    ...server.debugInformation(),
  ];
}
