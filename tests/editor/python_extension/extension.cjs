/** A stand-in for ms-python.python, with the part of its interface that says which interpreter is selected. */

const vscode = require("vscode");

exports.activate = (context) => {
  let selected = process.env.STAND_IN_FIRST;
  const changed = new vscode.EventEmitter();
  context.subscriptions.push(
    changed,
    vscode.commands.registerCommand("standIn.selectOther", () => {
      selected = process.env.STAND_IN_OTHER;
      // The real one tells a change several times over.
      for (let time = 0; time < 5; time += 1) {
        changed.fire({ path: selected });
      }
    }),
  );
  return {
    environments: {
      getActiveEnvironmentPath: () => ({ path: selected }),
      resolveEnvironment: async ({ path }) => ({ executable: { uri: vscode.Uri.file(path) } }),
      onDidChangeActiveEnvironmentPath: changed.event,
    },
  };
};
