/** Runs the steps of a script: names and durations on the terminal, a step's own output where it failed. */

import { spawn } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** True where nobody watches: a check that cannot be made is then a failure. */
export const UNATTENDED = /^(1|true)$/i.test(process.env.CI ?? "");

/** A program that ended badly; the message is its output. */
export class StepError extends Error {}

/**
 * @typedef {object} RunOptions
 * @property {string} [cwd] folder to run in; the top of the repository where left out
 * @property {Record<string, string | undefined>} [env] variables added to this process's own
 * @property {boolean} [show] print the output while it comes
 * @property {readonly number[]} [accept] exit codes that are no failure
 */

/**
 * Run a program to its end.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {RunOptions} [options]
 * @returns {Promise<string>} what it wrote to standard output
 */
export function run(command, args, { cwd = ROOT, env = {}, show = false, accept = [0] } = {}) {
  return new Promise((resolve, reject) => {
    // npm and code are .cmd files on Windows, which only a shell starts.
    const shell = process.platform === "win32" && (command === "npm" || command.endsWith(".cmd"));
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      shell,
    });
    let stdout = "";
    let all = "";
    child.stdout.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
      stdout += text;
      all += text;
      if (show) {
        process.stdout.write(text);
      }
    });
    child.stderr.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
      all += text;
      if (show) {
        process.stderr.write(text);
      }
    });
    child.on("error", (error) => {
      reject(new StepError(`${command} does not start: ${error.message}`));
    });
    child.on("close", (code) => {
      if (code !== null && accept.includes(code)) {
        resolve(stdout);
      } else {
        const said = show ? "" : `\n${all.trimEnd()}`;
        reject(
          new StepError(`${[command, ...args].join(" ")}: exit code ${code ?? "none"}${said}`),
        );
      }
    });
  });
}

/**
 * Run one step and print its name and duration.
 *
 * @template T
 * @param {string} name
 * @param {() => Promise<T>} action
 * @returns {Promise<T>}
 */
export async function step(name, action) {
  const start = performance.now();
  /** @param {string} end */
  const report = (end) => {
    console.log(`${end} ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
  };
  try {
    const result = await action();
    report("ok    ");
    return result;
  } catch (error) {
    report("FAILED");
    throw error;
  }
}

/** Print a heading before steps whose own output is shown. @param {string} name */
export function heading(name) {
  console.log(`\n== ${name}`);
}

/** Run a script's main function; a failed step ends it with its output and exit code 1. @param {() => Promise<void>} main */
export async function script(main) {
  try {
    await main();
  } catch (error) {
    console.error(error instanceof StepError ? `\n${error.message}` : error);
    process.exitCode = 1;
  }
}
