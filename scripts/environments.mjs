/** Makes the environments of development and tests; each is used again while its requirements stay the same. */

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { findPythons, pythonOf } from "./python.mjs";
import { ROOT, StepError, run, step } from "./steps.mjs";

/** @typedef {import("./python.mjs").Python} Python */

const MINIMUM_MINOR = 11;
export const ENVIRONMENTS = path.join(ROOT, ".environments");
const PIP = ["-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input"];

/**
 * `.venv` with Pallas Lens (editable) and what its tests need.
 *
 * @returns {Promise<string>} its python
 */
export async function developmentEnvironment() {
  const environment = path.join(ROOT, ".venv");
  const python = pythonOf(environment);
  const wanted = await readFile(path.join(ROOT, "pyproject.toml"), "utf8");
  await madeOnce(environment, wanted, async () => {
    const found = (await findPythons()).find(({ minor }) => minor >= MINIMUM_MINOR);
    if (found === undefined) {
      throw new StepError(
        `No Python 3.${MINIMUM_MINOR} or later is found on the PATH or under ~/.pyenv/versions. Install one.`,
      );
    }
    await step(`.venv with Python 3.${found.minor}`, async () => {
      await makeVirtualEnvironment(found, environment);
      await run(python, [...PIP, "install", "--editable", ".[test]"]);
    });
  });
  return python;
}

/** `node_modules`, as package-lock.json says. */
export async function nodeModules() {
  const wanted = await readFile(path.join(ROOT, "package-lock.json"), "utf8");
  await madeOnce(path.join(ROOT, "node_modules"), wanted, () =>
    step("npm ci", async () => {
      // No package needs its install script here, and none gets to run one.
      await run("npm", ["ci", "--ignore-scripts", "--silent", "--no-audit", "--no-fund"]);
    }),
  );
}

/**
 * One environment for each JAX that the tests judge by, where this machine has the Python for it.
 *
 * @returns {Promise<{pythons: string[], missing: string[]}>} what `missing` lists could not be made
 */
export async function jaxEnvironments() {
  const pythons = await findPythons();
  const plans = [
    {
      requirements: "requirements-jax-0.10.txt",
      name: "jax-0.10",
      python: pythons.find(({ minor }) => minor === 11),
      needs: "Python 3.11",
    },
    {
      requirements: "requirements-jax-0.12.txt",
      name: "jax-0.12",
      python: pythons.find(({ minor }) => minor >= 12),
      needs: "Python 3.12 or later",
    },
  ];
  /** @type {string[]} */
  const missing = [];
  /** @type {string[]} */
  const made = [];
  for (const { requirements, name, python, needs } of plans) {
    if (python === undefined) {
      missing.push(`${name}: no ${needs} is found`);
      continue;
    }
    const file = path.join(ROOT, "tests", requirements);
    const environment = path.join(ENVIRONMENTS, name);
    const wanted = `${python.executable}\n${await readFile(file, "utf8")}`;
    await madeOnce(environment, wanted, () =>
      step(`${name} with Python 3.${python.minor}`, async () => {
        await makeVirtualEnvironment(python, environment);
        await run(pythonOf(environment), [...PIP, "install", "--requirement", file]);
      }),
    );
    made.push(pythonOf(environment));
  }
  return { pythons: made, missing };
}

/**
 * Make a folder unless it was made from the same wants before.
 *
 * @param {string} folder
 * @param {string} wanted everything its content depends on
 * @param {() => Promise<void>} make
 */
export async function madeOnce(folder, wanted, make) {
  const stamp = path.join(folder, ".pallas-lens-made-from");
  const digest = createHash("sha256").update(wanted).digest("hex");
  if (existsSync(stamp) && (await readFile(stamp, "utf8")) === digest) {
    return;
  }
  await make();
  await mkdir(folder, { recursive: true });
  await writeFile(stamp, digest);
}

/**
 * @param {Python} python
 * @param {string} environment
 */
async function makeVirtualEnvironment(python, environment) {
  await rm(environment, { recursive: true, force: true });
  await run(python.executable, ["-m", "venv", environment]);
}
