/** `npm run demo`: builds everything, checks the examples as a user would, and opens the editor on them. */

import path from "node:path";

import { onPath } from "./editor.mjs";
import { developmentEnvironment, nodeModules } from "./environments.mjs";
import { packageExtension } from "./package.mjs";
import { ROOT, heading, run, script, step } from "./steps.mjs";

await script(async () => {
  heading("build");
  const [python] = await Promise.all([developmentEnvironment(), nodeModules()]);
  const vsix = await packageExtension(python);

  heading("pallas-lens check examples");
  // Exit code 1 is "there are findings", which the examples are there for.
  await run(python, ["-m", "pallas_lens", "check", "examples"], { show: true, accept: [0, 1] });

  heading("editor");
  const code = await onPath(process.platform === "win32" ? ["code.cmd"] : ["code"]);
  const file = path.relative(ROOT, vsix);
  if (code === null) {
    console.log(
      `No command "code" is found on the PATH. To see the examples in VS Code, run its command\n` +
        `"Extensions: Install from VSIX..." with ${file}, then open the folder examples.`,
    );
    return;
  }
  await step(`install ${file} into VS Code`, () =>
    run(code, ["--install-extension", vsix, "--force"]),
  );
  await step("open VS Code on examples", () => run(code, [path.join(ROOT, "examples")]));
});
