/** Finds the two interpreters: the one which runs the server, and the user's, which has JAX. */

import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { homedir } from "node:os";
import * as path from "node:path";

import { extensions, workspace, type Event, type LogOutputChannel, type Uri } from "vscode";

import { interpreterSetting, type InterpreterSetting } from "./settings.ts";

/** The server's own minimum; the user's interpreter may be older. */
export const SERVER_MINIMUM: readonly [number, number] = [3, 11];

const PROBE_MILLISECONDS = 20_000;
const PYTHON_EXTENSION = "ms-python.python";
const ON_WINDOWS = process.platform === "win32";

export interface Interpreter {
  /** Absolute path of the executable, as it names itself: behind a version manager's shim, the real one. */
  readonly executable: string;
  readonly version: readonly [number, number, number];
  /** Where it was found, in words that finish "Python from …". */
  readonly origin: string;
}

export interface Found {
  /** Runs the server; null where none of `tried` will do. */
  readonly server: Interpreter | null;
  /** The user's, passed to the server; null where there is none, or the workspace is not trusted. */
  readonly user: Interpreter | null;
  /** Why there is no server interpreter, for a message; null where there is one. */
  readonly problem: string | null;
}

interface Candidate {
  readonly executable: string;
  readonly origin: string;
}

/** The part of the Python extension's interface that is used here. */
interface PythonExtensionApi {
  readonly environments?: {
    getActiveEnvironmentPath(resource?: Uri): { readonly path: string };
    resolveEnvironment(
      environment: unknown,
    ): Promise<{ readonly executable: { readonly uri?: Uri | undefined } } | undefined>;
    readonly onDidChangeActiveEnvironmentPath: Event<unknown>;
  };
}

/** Look for both interpreters; each candidate is started once to ask its version. */
export async function findInterpreters(trusted: boolean, log: LogOutputChannel): Promise<Found> {
  const search = new Search(trusted, log);
  const user = trusted ? await search.user() : null;
  const server = await search.server(user);
  return { server, user, problem: server === null ? search.problem() : null };
}

/** The version in words, "3.12.1". */
export function versionText(interpreter: Interpreter): string {
  return interpreter.version.join(".");
}

/** Calls back when the Python extension's selection changes; null where that extension is absent. */
export async function onPythonExtensionChange(
  changed: () => void,
): Promise<{ dispose(): void } | null> {
  const api = await pythonExtension();
  return (
    api?.environments?.onDidChangeActiveEnvironmentPath(() => {
      changed();
    }) ?? null
  );
}

class Search {
  private readonly probes = new Map<string, Promise<Answer | null>>();
  private readonly rejected: string[] = [];
  private readonly log: LogOutputChannel;
  private readonly trusted: boolean;
  private settingAtFault: InterpreterSetting | null = null;

  constructor(trusted: boolean, log: LogOutputChannel) {
    this.trusted = trusted;
    this.log = log;
  }

  /** The user's: setting, Python extension, `.venv`, PATH. A setting that does not work is not passed over. */
  async user(): Promise<Interpreter | null> {
    const set = interpreterSetting("interpreter");
    if (set !== null) {
      const found = await this.probe(await located(set, "interpreter"));
      if (found === null) {
        this.log.error(
          `The setting pallasLens.interpreter names ${set}, which is no Python that starts.`,
        );
      }
      return found;
    }
    return this.first(
      [...(await fromPythonExtension(this.log)), ...fromFolders(), ...(await fromPath(true))],
      () => true,
    );
  }

  /** The server's: setting, the user's where it is recent enough, PATH. */
  async server(user: Interpreter | null): Promise<Interpreter | null> {
    const set = interpreterSetting("serverInterpreter");
    if (set !== null) {
      const found = await this.probe(await located(set, "serverInterpreter"));
      if (found === null || !isRecent(found)) {
        this.settingAtFault = "serverInterpreter";
        this.rejected.push(found === null ? `${set} (does not start)` : described(found));
        return null;
      }
      return found;
    }
    if (user !== null && isRecent(user)) {
      return user;
    }
    // In an untrusted workspace this is the value of the user's own settings.
    const ownSetting = interpreterSetting("interpreter");
    const candidates = ownSetting === null ? [] : [await located(ownSetting, "interpreter")];
    if (this.trusted) {
      candidates.push(...fromFolders());
    }
    candidates.push(...(await fromPath(this.trusted)));
    return this.first(candidates, isRecent);
  }

  /** What was wrong, as a sentence for the user. */
  problem(): string {
    const minimum = SERVER_MINIMUM.join(".");
    const seen = [...new Set(this.rejected)];
    if (this.settingAtFault !== null) {
      return `The setting pallasLens.${this.settingAtFault} names ${seen[0] ?? "nothing"}; Pallas Lens needs Python ${minimum} or later to run its language server.`;
    }
    const why = seen.length === 0 ? "found no Python" : `found only ${seen.join(", ")}`;
    return `Pallas Lens needs Python ${minimum} or later to run its language server, and ${why}. Install one, or name one in the setting pallasLens.serverInterpreter; your kernels may go on using another.`;
  }

  private async first(
    candidates: readonly Candidate[],
    accepted: (found: Interpreter) => boolean,
  ): Promise<Interpreter | null> {
    for (const candidate of candidates) {
      const found = await this.probe(candidate);
      if (found === null) {
        continue;
      }
      if (accepted(found)) {
        return found;
      }
      this.rejected.push(described(found));
    }
    return null;
  }

  private async probe(candidate: Candidate): Promise<Interpreter | null> {
    let pending = this.probes.get(candidate.executable);
    if (pending === undefined) {
      pending = ask(candidate.executable, this.trusted, this.log);
      this.probes.set(candidate.executable, pending);
    }
    const answer = await pending;
    return answer === null ? null : { ...answer, origin: candidate.origin };
  }
}

function described(interpreter: Interpreter): string {
  return `${versionText(interpreter)} at ${interpreter.executable}`;
}

function isRecent(interpreter: Interpreter): boolean {
  const [major, minor] = interpreter.version;
  return major > SERVER_MINIMUM[0] || (major === SERVER_MINIMUM[0] && minor >= SERVER_MINIMUM[1]);
}

type Answer = Pick<Interpreter, "executable" | "version">;

/**
 * Start an executable in isolated mode to ask its version and path; null where it is no working Python.
 *
 * Version managers choose by the folder they are called in, so that one must be trusted.
 */
function ask(executable: string, trusted: boolean, log: LogOutputChannel): Promise<Answer | null> {
  const program =
    "import sys; print('python %d.%d.%d %s' % (*sys.version_info[:3], sys.executable))";
  const folder = trusted ? workspace.workspaceFolders?.[0]?.uri.fsPath : undefined;
  const options = { timeout: PROBE_MILLISECONDS, cwd: folder ?? homedir() };
  return new Promise((resolve) => {
    execFile(executable, ["-I", "-S", "-X", "utf8", "-c", program], options, (error, stdout) => {
      const match = /^python (\d+)\.(\d+)\.(\d+) (.*?)\s*$/.exec(stdout);
      if (error !== null || match === null) {
        log.debug(`${executable} is no Python that starts: ${error?.message ?? stdout}`);
        resolve(null);
      } else {
        const version = [Number(match[1]), Number(match[2]), Number(match[3])] as const;
        resolve({
          executable: match[4] === undefined || match[4] === "" ? executable : match[4],
          version,
        });
      }
    });
  });
}

/** What a setting names: a path, or a command on the PATH. */
async function located(value: string, setting: InterpreterSetting): Promise<Candidate> {
  const origin = `the setting pallasLens.${setting}`;
  if (path.isAbsolute(value)) {
    return { executable: value, origin };
  }
  if (!/[/\\]/.test(value)) {
    const onPath = await commandsOnPath([value], true);
    if (onPath[0] !== undefined) {
      return { executable: onPath[0], origin };
    }
  }
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  return { executable: path.resolve(folder, value), origin };
}

async function pythonExtension(): Promise<PythonExtensionApi | null> {
  const extension = extensions.getExtension<PythonExtensionApi>(PYTHON_EXTENSION);
  if (extension === undefined) {
    return null;
  }
  try {
    return extension.isActive ? extension.exports : await extension.activate();
  } catch {
    return null;
  }
}

async function fromPythonExtension(log: LogOutputChannel): Promise<Candidate[]> {
  const environments = (await pythonExtension())?.environments;
  if (environments === undefined) {
    return [];
  }
  try {
    const active = environments.getActiveEnvironmentPath(workspace.workspaceFolders?.[0]?.uri);
    const resolved = await environments.resolveEnvironment(active);
    const executable = resolved?.executable.uri?.fsPath;
    return executable === undefined ? [] : [{ executable, origin: "the Python extension" }];
  } catch (error) {
    log.warn(`The Python extension did not say which interpreter is selected: ${String(error)}`);
    return [];
  }
}

function fromFolders(): Candidate[] {
  const inside = ON_WINDOWS ? ["Scripts", "python.exe"] : ["bin", "python"];
  return (workspace.workspaceFolders ?? [])
    .filter((folder) => folder.uri.scheme === "file")
    .map((folder) => ({
      executable: path.join(folder.uri.fsPath, ".venv", ...inside),
      origin: `.venv of the folder ${folder.name}`,
    }));
}

async function fromPath(trusted: boolean): Promise<Candidate[]> {
  const newest = ["3.15", "3.14", "3.13", "3.12", "3.11"].map((version) => `python${version}`);
  const found = await commandsOnPath(["python3", "python", ...newest], trusted);
  return found.map((executable) => ({ executable, origin: "the PATH" }));
}

/**
 * Absolute paths of the commands found on the PATH, in the order of `names`, and of the PATH within a name.
 *
 * Relative entries are passed over, and so are entries inside a folder of an untrusted workspace.
 */
async function commandsOnPath(names: readonly string[], trusted: boolean): Promise<string[]> {
  const folders = trusted
    ? []
    : (workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
  const entries = (process.env.PATH ?? "")
    .split(path.delimiter)
    .filter((entry) => path.isAbsolute(entry))
    .filter((entry) => !folders.some((folder) => isWithin(entry, folder)));
  const found: string[] = [];
  for (const name of names) {
    for (const entry of entries) {
      const file = path.join(entry, ON_WINDOWS && !name.endsWith(".exe") ? `${name}.exe` : name);
      if (await isExecutable(file)) {
        found.push(file);
      }
    }
  }
  return [...new Set(found)];
}

function isWithin(inner: string, outer: string): boolean {
  const relative = path.relative(outer, inner);
  return relative === "" || (!relative.startsWith("..") && !path.isAbsolute(relative));
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
