/** The settings this client itself reads; all others are passed to the server as they are. */

import { workspace } from "vscode";

export const SECTION = "pallasLens";

/** The command that opens the log channel. */
export const SHOW_LOG = `${SECTION}.showLog`;

/** Settings which decide what is started, so that a change of one restarts the server. */
export const INTERPRETER_SETTINGS = [
  `${SECTION}.interpreter`,
  `${SECTION}.serverInterpreter`,
] as const;

export type InterpreterSetting = "interpreter" | "serverInterpreter";

/**
 * The interpreter a setting names, with `~`, `${workspaceFolder}`, `${env:NAME}` replaced; null where it is empty.
 *
 * VS Code itself leaves out what an untrusted workspace says of it (`restrictedConfigurations` in package.json).
 */
export function interpreterSetting(name: InterpreterSetting): string | null {
  const value = workspace.getConfiguration(SECTION).get<string>(name, "").trim();
  if (value === "") {
    return null;
  }
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  return expandVariables(value, folder, process.env);
}

/** Replace `~` at the start, `${workspaceFolder}` and `${env:NAME}`; an unknown variable becomes empty. */
export function expandVariables(
  value: string,
  workspaceFolder: string,
  environment: Record<string, string | undefined>,
): string {
  const home = environment.HOME ?? environment.USERPROFILE ?? "~";
  return value
    .replace(/^~(?=$|[/\\])/, () => home)
    .replace(/\$\{workspaceFolder\}/g, () => workspaceFolder)
    .replace(/\$\{env:([^}]+)\}/g, (_match, name: string) => environment[name] ?? "");
}

/** Everything under `pallasLens`, as the server receives it when it starts. */
export function allSettings(): unknown {
  return JSON.parse(JSON.stringify(workspace.getConfiguration(SECTION)));
}
