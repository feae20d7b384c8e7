/** The item in the editor's language status: what runs, with which Python and JAX, for which chips. */

import { languages, LanguageStatusSeverity, type Disposable } from "vscode";

import { versionText, type Found } from "./interpreters.ts";

/** Parameters of the server's notification `pallasLens/status`, version 1. */
export interface ServerStatus {
  readonly version: typeof STATUS_VERSION;
  /** The JAX of the user's environment; null where none was found. */
  readonly jax: string | null;
  /** The chips findings are made for. */
  readonly targets: readonly string[];
}

export const STATUS_NOTIFICATION = "pallasLens/status";
const STATUS_VERSION = 1;

/** Whether this client reads what was sent: a later server may send another version. */
export function isServerStatus(sent: { readonly version: number }): sent is ServerStatus {
  return sent.version === STATUS_VERSION;
}

/** Shows one state at a time; a click on its command opens the log. */
export class StatusItem implements Disposable {
  private readonly item = languages.createLanguageStatusItem("pallasLens.status", {
    language: "python",
  });

  constructor(showLogCommand: string) {
    this.item.name = "Pallas Lens";
    this.item.text = "Pallas Lens";
    this.item.command = { command: showLogCommand, title: "Show Log" };
  }

  starting(): void {
    this.item.busy = true;
    this.item.severity = LanguageStatusSeverity.Information;
    this.item.detail = "starting";
  }

  running(serverVersion: string, found: Found, server: ServerStatus | null): void {
    this.item.busy = false;
    this.item.severity = LanguageStatusSeverity.Information;
    this.item.text = `Pallas Lens ${serverVersion}`.trimEnd();
    this.item.detail = describe(found, server);
  }

  failed(reason: string): void {
    this.item.busy = false;
    this.item.severity = LanguageStatusSeverity.Error;
    this.item.text = "Pallas Lens";
    this.item.detail = reason;
  }

  stopped(): void {
    this.item.busy = false;
    this.item.detail = "stopped";
  }

  dispose(): void {
    this.item.dispose();
  }
}

/** "Python 3.12.1 · JAX 0.12.0.1 · v5e, v6e", with what is not known left out. */
function describe(found: Found, server: ServerStatus | null): string {
  const interpreter = found.user ?? found.server;
  const parts = interpreter === null ? [] : [`Python ${versionText(interpreter)}`];
  if (server !== null) {
    parts.push(server.jax === null ? "no JAX found" : `JAX ${server.jax}`);
    if (server.targets.length > 0) {
      parts.push(server.targets.join(", "));
    }
  }
  return parts.join(" · ");
}
