// Builds the addon from the checkout and puts it beside this file, under the name that lib/native.cjs loads, with the licences.
//
// It runs when the package is installed or packed. Cargo decides what there is to do, so a second run takes a moment. A copy of the
// package outside of the checkout has no sources; then the addon that was packed with it is the one.
'use strict';

const { spawnSync } = require('node:child_process');
const { copyFileSync, existsSync, renameSync } = require('node:fs');
const path = require('node:path');

const ADDON = path.join(__dirname, 'sameish.node');
const WORKSPACE = path.join(__dirname, '..', '..');

/** Cargo's profile: that of packages, or what SAMEISH_PROFILE says. */
const profile = process.env.SAMEISH_PROFILE || 'dist';

function fail(message) {
  console.error(`sameish: ${message}`);
  process.exit(1);
}

function libraryName() {
  const names = { darwin: 'libsameish_node.dylib', win32: 'sameish_node.dll' };
  return names[process.platform] ?? 'libsameish_node.so';
}

/** Runs cargo and gives the path of the library it made. */
function build() {
  const args = ['build', '--locked', '--profile', profile, '-p', 'sameish-node', '--message-format=json-render-diagnostics'];
  const made = spawnSync('cargo', args, { cwd: WORKSPACE, stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1 << 28 });
  if (made.error?.code === 'ENOENT') {
    fail('`cargo` was not found: install Rust 1.95 or later from https://rustup.rs, then install this package again');
  }
  if (made.error) fail(`\`cargo\` did not run: ${made.error.message}`);
  if (made.status !== 0) fail(`\`cargo build -p sameish-node\` failed with ${made.status ?? made.signal}: see above`);
  const artifacts = made.stdout.toString().split('\n').filter((line) => line.includes('"compiler-artifact"'));
  const files = artifacts.flatMap((line) => JSON.parse(line).filenames);
  const library = files.find((file) => path.basename(file) === libraryName());
  return library ?? fail(`\`cargo\` made no ${libraryName()}`);
}

if (existsSync(path.join(WORKSPACE, 'crates', 'sameish', 'Cargo.toml'))) {
  // Renamed into place: a process that has the old addon loaded keeps its own.
  copyFileSync(build(), `${ADDON}.new`);
  renameSync(`${ADDON}.new`, ADDON);
  for (const licence of ['LICENSE-APACHE', 'LICENSE-MIT']) {
    copyFileSync(path.join(WORKSPACE, licence), path.join(__dirname, licence));
  }
} else if (!existsSync(ADDON)) {
  fail('there is neither a built addon nor its sources here: install it from a checkout of sameish');
}
