/** Finds the Pythons of this machine: on the PATH, and among those which pyenv has installed. */

import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";

const WINDOWS = process.platform === "win32";

/**
 * @typedef {object} Python
 * @property {string} executable absolute path
 * @property {number} minor of Python 3
 */

/**
 * All that start, one for each minor version of Python 3, oldest first.
 *
 * @returns {Promise<Python[]>}
 */
export async function findPythons() {
  const commands = ["python3", "python"];
  for (let minor = 10; minor < 20; minor += 1) {
    commands.push(`python3.${minor}`);
  }
  const asked = await Promise.all([...commands, ...(await pyenvPythons())].map(ask));
  /** @type {Map<number, Python>} */
  const byMinor = new Map();
  for (const python of asked) {
    if (python !== null && !byMinor.has(python.minor)) {
      byMinor.set(python.minor, python);
    }
  }
  return [...byMinor.values()].sort((a, b) => a.minor - b.minor);
}

/** The executable of a virtual environment. @param {string} environment */
export function pythonOf(environment) {
  return WINDOWS
    ? path.join(environment, "Scripts", "python.exe")
    : path.join(environment, "bin", "python");
}

/**
 * Ask an executable for its version and its path, in isolated mode; null where it is no working Python 3.
 *
 * @param {string} executable
 * @returns {Promise<Python | null>}
 */
export function ask(executable) {
  const program =
    "import sys; print('python', *sys.version_info[:2], getattr(sys, '_base_executable', None) or sys.executable)";
  return new Promise((resolve) => {
    execFile(executable, ["-I", "-c", program], { timeout: 20_000 }, (error, stdout) => {
      const match = /^python 3 (\d+) (.+?)\s*$/.exec(stdout);
      resolve(
        error === null && match?.[2] !== undefined
          ? { minor: Number(match[1]), executable: match[2] }
          : null,
      );
    });
  });
}

/** The Pythons of pyenv, which its shims on the PATH reach only where one is selected. */
async function pyenvPythons() {
  const shims = (process.env.PATH ?? "")
    .split(path.delimiter)
    .filter((entry) => path.basename(entry) === "shims");
  const roots = new Set([
    ...(process.env.PYENV_ROOT === undefined ? [] : [process.env.PYENV_ROOT]),
    path.join(homedir(), ".pyenv"),
    ...shims.map((entry) => path.dirname(entry)),
  ]);
  /** @type {string[]} */
  const found = [];
  for (const root of roots) {
    const versions = path.join(root, "versions");
    const names = await readdir(versions).catch(() => []);
    found.push(...names.map((name) => path.join(versions, name, "bin", "python3")));
  }
  return found;
}
