/** `npm run build`: the client's bundle in dist/, and the server with its libraries in bundled/libs/. */

import { cp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { developmentEnvironment, madeOnce, nodeModules } from "./environments.mjs";
import { ROOT, StepError, run, script, step } from "./steps.mjs";

const LIBRARIES = path.join(ROOT, "bundled", "libs");
const REQUIREMENTS = path.join(ROOT, "scripts", "bundled-requirements.txt");

// Only wheels that run on every platform and every Python from 3.11 on are taken: one .vsix serves all.
const PURE_PYTHON =
  "--no-deps --only-binary=:all: --platform any --implementation py --abi none --python-version 3.11 --no-compile";

/** Build everything the .vsix carries. @param {string} python of the development environment */
export async function build(python) {
  await Promise.all([
    step("client bundle", bundleClient),
    step("server libraries", () => bundleServer(python)),
  ]);
}

async function bundleClient() {
  const esbuild = await import("esbuild");
  await rm(path.join(ROOT, "dist"), { recursive: true, force: true });
  const { metafile } = await esbuild.build({
    absWorkingDir: ROOT,
    entryPoints: ["client/src/extension.ts"],
    outfile: "dist/extension.cjs",
    bundle: true,
    minify: true,
    format: "cjs",
    platform: "node",
    target: "node20",
    external: ["vscode"],
    legalComments: "none",
    logLevel: "warning",
    metafile: true,
  });
  await writeFile(
    path.join(ROOT, "dist", "THIRD-PARTY.txt"),
    await notices(Object.keys(metafile.inputs)),
  );
}

/** The licences of the npm packages whose files are in the bundle. @param {readonly string[]} inputs */
async function notices(inputs) {
  const packages = new Set(
    inputs.flatMap((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []),
  );
  const texts = [...packages].sort().map(async (folder) => {
    const names = await readdir(path.join(ROOT, folder));
    const licence = names.find((name) => /^licen[sc]e(\.|$)/i.test(name));
    if (licence === undefined) {
      throw new StepError(`${folder} is in the bundle and has no licence file`);
    }
    const text = await readFile(path.join(ROOT, folder, licence), "utf8");
    return `${folder.replace(/^.*node_modules\//, "")}\n\n${text.trim()}\n`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(80)}\n\n`);
}

/** @param {string} python */
async function bundleServer(python) {
  const wanted = await readFile(REQUIREMENTS, "utf8");
  await madeOnce(LIBRARIES, wanted, async () => {
    await rm(LIBRARIES, { recursive: true, force: true });
    const options = PURE_PYTHON.split(" ");
    await run(python, [
      ...["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"],
      ...options,
      ...["--target", LIBRARIES, "--requirement", REQUIREMENTS],
    ]);
    await dropUnusedStubs();
  });
  await copyServer();
}

/** jedi's stubs of third-party packages are two thirds of the size, and say nothing of JAX. */
async function dropUnusedStubs() {
  const thirdParty = path.join(LIBRARIES, "jedi", "third_party");
  for (const stubs of ["django-stubs", path.join("typeshed", "stubs")]) {
    await rm(path.join(thirdParty, stubs), { recursive: true, force: true });
  }
}

async function copyServer() {
  const source = path.join(ROOT, "server", "pallas_lens");
  const target = path.join(LIBRARIES, "pallas_lens");
  await rm(target, { recursive: true, force: true });
  await cp(source, target, {
    recursive: true,
    // Neither compiled files nor the caches of tools.
    filter: (file) => !/^(\.|__pycache__$)/.test(path.basename(file)),
  });
  const compiled = (await readdir(LIBRARIES, { recursive: true })).filter((name) =>
    /\.(so|pyd|dylib|dll)$/.test(name),
  );
  if (compiled.length > 0) {
    throw new Error(`bundled/libs must be pure Python, and has ${compiled.join(", ")}`);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await script(async () => {
    const [python] = await Promise.all([developmentEnvironment(), nodeModules()]);
    await build(python);
  });
}
