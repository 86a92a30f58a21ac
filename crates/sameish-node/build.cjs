// Builds the addon with Cargo and copies it, with the licenses, into this directory, where lib/native.cjs loads it.
//
// The script runs when the package is installed or packed. If nothing has changed, Cargo finishes in a moment. A package
// outside of the repository has no sources; it contains the addon that was built when it was packed.
'use strict';

const { spawnSync } = require('node:child_process');
const { copyFileSync, existsSync, renameSync } = require('node:fs');
const path = require('node:path');

const ADDON = path.join(__dirname, 'sameish.node');
const WORKSPACE = path.join(__dirname, '..', '..');

/** Profile of Cargo. */
const profile = process.env.SAMEISH_PROFILE || 'dist';

function fail(message) {
  console.error(`sameish: ${message}`);
  process.exit(1);
}

function libraryName() {
  const names = { darwin: 'libsameish_node.dylib', win32: 'sameish_node.dll' };
  return names[process.platform] ?? 'libsameish_node.so';
}

/** Runs Cargo and returns the path of the library that it built. */
function build() {
  const args = ['build', '--locked', '--profile', profile, '-p', 'sameish-node', '--message-format=json-render-diagnostics'];
  const result = spawnSync('cargo', args, { cwd: WORKSPACE, stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1 << 28 });
  if (result.error?.code === 'ENOENT') {
    fail('`cargo` not found: install Rust 1.95 or later from https://rustup.rs, then install this package again');
  }
  if (result.error) fail(`cannot run \`cargo\`: ${result.error.message}`);
  if (result.status !== 0) fail(`\`cargo build -p sameish-node\` failed with ${result.status ?? result.signal}: see the messages above`);
  const artifacts = result.stdout.toString().split('\n').filter((line) => line.includes('"compiler-artifact"'));
  const files = artifacts.flatMap((line) => JSON.parse(line).filenames);
  const library = files.find((file) => path.basename(file) === libraryName());
  return library ?? fail(`\`cargo build -p sameish-node\` did not produce \`${libraryName()}\``);
}

if (existsSync(path.join(WORKSPACE, 'crates', 'sameish', 'Cargo.toml'))) {
  // Replace the file by renaming, because a running process may have loaded the old one.
  copyFileSync(build(), `${ADDON}.new`);
  renameSync(`${ADDON}.new`, ADDON);
  for (const license of ['LICENSE-APACHE', 'LICENSE-MIT']) {
    copyFileSync(path.join(WORKSPACE, license), path.join(__dirname, license));
  }
} else if (!existsSync(ADDON)) {
  fail('the package contains neither the addon nor its sources: install it from a checkout of sameish');
}
