import tseslint from "typescript-eslint";

export default tseslint.config(
  {
    ignores: [
      // Runs in the editor as it stands, without a build.
      "tests/editor/python_extension/",
      "dist/",
      "out/",
      "bundled/",
      ".venv/",
      ".environments/",
      "node_modules/",
    ],
  },
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        project: [
          "./client/tsconfig.json",
          "./tests/editor/tsconfig.json",
          "./scripts/tsconfig.json",
        ],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      eqeqeq: "error",
      "@typescript-eslint/no-floating-promises": [
        "error",
        // node:test awaits what is registered by these itself.
        { allowForKnownSafeCalls: [{ from: "package", package: "node:test", name: "test" }] },
      ],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
  {
    files: ["eslint.config.js"],
    ...tseslint.configs.disableTypeChecked,
  },
);
