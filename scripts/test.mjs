/**
 * `npm test`: everything that must hold, on a machine with nothing but Python and Node.
 *
 *   --only static|python|editor   one part
 *   --update-pictures             write the README's pictures anew (with the editor tests)
 */

import { parseArgs } from "node:util";
import path from "node:path";

import { editorTools, runEditorTests } from "./editor.mjs";
import { developmentEnvironment, jaxEnvironments, nodeModules } from "./environments.mjs";
import { packageExtension } from "./package.mjs";
import { ROOT, StepError, UNATTENDED, heading, run, script, step } from "./steps.mjs";

const PARTS = ["static", "python", "editor"];

const { values } = parseArgs({
  options: { only: { type: "string" }, "update-pictures": { type: "boolean", default: false } },
});

await script(async () => {
  const { only } = values;
  if (only !== undefined && !PARTS.includes(only)) {
    throw new StepError(`--only takes one of ${PARTS.join(", ")}, not ${only}`);
  }
  const wanted = only === undefined ? PARTS : [only];
  /** @type {string[]} */
  const failed = [];
  /** @type {string[]} */
  const skipped = [];
  /** Go on after a failed part, so that one run shows all. @type {(name: string, part: () => Promise<unknown>) => Promise<void>} */
  const attempt = async (name, part) => {
    try {
      await part();
    } catch (error) {
      if (!(error instanceof StepError)) {
        throw error;
      }
      console.error(error.message);
      failed.push(name);
    }
  };

  heading("environments");
  const [python, , jax, tools] = await Promise.all([
    developmentEnvironment(),
    nodeModules(),
    wanted.includes("python") || wanted.includes("editor")
      ? jaxEnvironments()
      : { pythons: [], missing: [] },
    wanted.includes("editor") ? editorTools() : null,
  ]);
  skipped.push(...jax.missing);

  if (wanted.includes("static")) {
    heading("static checks");
    await attempt("static checks", () => staticChecks(python));
  }
  if (wanted.includes("python")) {
    heading("pytest");
    const env = { PALLAS_LENS_JAX_PYTHONS: jax.pythons.join(path.delimiter) };
    await attempt("pytest", () =>
      run(python, ["-m", "pytest", "--numprocesses", "auto", "-p", "no:cacheprovider"], {
        env,
        show: true,
      }),
    );
  }
  if (wanted.includes("editor")) {
    heading("editor tests");
    await attempt("editor tests", async () => {
      const vsix = await packageExtension(python);
      if (tools === null || typeof tools === "string") {
        skipped.push(`editor tests: ${tools ?? "not asked for"}`);
      } else if (jax.pythons.length === 0) {
        skipped.push("editor tests: no Python with JAX");
      } else {
        await runEditorTests(tools, vsix, python, jax.pythons, values["update-pictures"]);
      }
    });
  }

  heading("result");
  for (const what of skipped) {
    console.error(`SKIPPED ${what}`);
  }
  if (UNATTENDED && skipped.length > 0) {
    failed.push("skipped parts, which CI counts as failures");
  }
  if (failed.length > 0) {
    throw new StepError(`failed: ${failed.join(", ")}`);
  }
  console.log(skipped.length > 0 ? "all that was run has passed" : "all passed");
});

/** The checks that run nothing of ours but the generators, two at a time. @param {string} python */
async function staticChecks(python) {
  const node = process.execPath;
  const tool = (/** @type {string[]} */ ...parts) => path.join(ROOT, "node_modules", ...parts);
  const tsc = tool("typescript", "bin", "tsc");
  /** @type {[string, string, string[]][]} */
  const checks = [
    ["mypy", python, ["-m", "mypy", "--no-error-summary"]],
    ["eslint", node, [tool("eslint", "bin", "eslint.js"), "."]],
    ["tsc client", node, [tsc, "-p", "client"]],
    ["tsc scripts", node, [tsc, "-p", "scripts"]],
    ["tsc tests/editor", node, [tsc, "-p", "tests/editor"]],
    [
      "prettier",
      node,
      [tool("prettier", "bin", "prettier.cjs"), "--check", "--log-level", "warn", "."],
    ],
    ["ruff check", python, ["-m", "ruff", "check", "--quiet", "."]],
    ["generated files", python, ["-m", "pallas_lens.generate", "--check"]],
  ];
  /** @type {StepError[]} */
  const errors = [];
  const worker = async () => {
    for (let next = checks.shift(); next !== undefined; next = checks.shift()) {
      const [name, command, args] = next;
      try {
        await step(name, () => run(command, args));
      } catch (error) {
        if (!(error instanceof StepError)) {
          throw error;
        }
        errors.push(error);
      }
    }
  };
  await Promise.all([worker(), worker()]);
  if (errors.length > 0) {
    throw new StepError(errors.map(({ message }) => message).join("\n\n"));
  }
}
