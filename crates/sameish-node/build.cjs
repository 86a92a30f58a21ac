// Builds the addon with Cargo and copies it, with the licenses, into this directory, where lib/native.cjs loads it.
//
// The script runs when the package is installed or packed. If nothing has changed, Cargo finishes in a moment. A package
// outside of the repository has no sources; it contains the addon that was built when it was packed.
//
// npm hides the output of install scripts unless it is called with `--foreground-scripts`. The first build takes minutes, so a few
// lines about its progress go directly to the terminal, if there is one.
'use strict';

const { spawn, spawnSync } = require('node:child_process');
const { closeSync, copyFileSync, existsSync, openSync, readFileSync, renameSync, writeSync } = require('node:fs');
const path = require('node:path');
const { createInterface } = require('node:readline');

const ADDON = path.join(__dirname, 'sameish.node');
const WORKSPACE = path.join(__dirname, '..', '..');
const RETRY = 'then install this package again';
/** Milliseconds between two lines about the progress. */
const REPORT_INTERVAL = 15_000;

/** Profile of Cargo. */
const profile = process.env.SAMEISH_PROFILE || 'dist';

function fail(message) {
  console.error(`sameish: ${message}`);
  process.exit(1);
}

/** Prints a line where the user sees it: on the terminal if npm hides standard output. */
function say(message) {
  const line = `sameish: ${message}\n`;
  if (process.stdout.isTTY || !showOnTerminal(line)) process.stdout.write(line);
}

/** Writes to the terminal. Returns `false` if there is none. */
function showOnTerminal(line) {
  if (process.platform === 'win32' || process.env.npm_config_foreground_scripts || process.env.CI) return false;
  try {
    const terminal = openSync('/dev/tty', 'w');
    writeSync(terminal, line);
    closeSync(terminal);
    return true;
  } catch {
    return false;
  }
}

function libraryName() {
  const names = { darwin: 'libsameish_node.dylib', win32: 'sameish_node.dll' };
  return names[process.platform] ?? 'libsameish_node.so';
}

/** Exits with a message if Cargo is missing or too old. */
function checkCargo() {
  const [, required] = /^rust-version = "([\d.]+)"/m.exec(readFileSync(path.join(WORKSPACE, 'Cargo.toml'), 'utf8'));
  const { error, stdout } = spawnSync('cargo', ['--version'], { cwd: WORKSPACE, encoding: 'utf8' });
  if (error?.code === 'ENOENT') fail(`\`cargo\` not found: install Rust ${required} or later from https://rustup.rs, ${RETRY}`);
  if (error) fail(`cannot run \`cargo\`: ${error.message}`);
  const found = /\d+\.\d+(\.\d+)?/.exec(stdout)?.[0];
  if (found && isOlder(found, required)) fail(`found Cargo ${found}, but Rust ${required} or later is required: run \`rustup update\`, ${RETRY}`);
}

function isOlder(found, required) {
  const [a, b] = [found, required].map((version) => version.split('.').map(Number));
  return a[0] !== b[0] ? a[0] < b[0] : a[1] < b[1];
}

/** Returns the number of packages to compile, or 0 if it is not known. */
function countPackages() {
  const args = ['tree', '--locked', '--quiet', '-p', 'sameish-node', '-e', 'normal,build', '--prefix', 'none'];
  const { stdout } = spawnSync('cargo', args, { cwd: WORKSPACE, encoding: 'utf8' });
  return new Set((stdout ?? '').split('\n').filter(Boolean).map((line) => line.replace(/ \(.*/, ''))).size;
}

/** Runs Cargo. Returns the path of the library that it built. */
async function build() {
  const total = countPackages();
  const start = Date.now();
  const packages = new Set();
  let library;
  let compiled = 0;
  const args = ['build', '--locked', '--profile', profile, '-p', 'sameish-node', '--message-format=json-render-diagnostics'];
  const cargo = spawn('cargo', args, { cwd: WORKSPACE, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => {
    cargo.on('error', (error) => fail(`cannot run \`cargo\`: ${error.message}`));
    cargo.on('close', (status, signal) => resolve(status ?? signal));
  });
  const timer = setInterval(() => {
    const seconds = Math.round((Date.now() - start) / 1000);
    if (compiled > 0) say(`${packages.size} of about ${Math.max(total, packages.size)} packages compiled after ${seconds} seconds`);
  }, REPORT_INTERVAL);
  for await (const line of createInterface({ input: cargo.stdout })) {
    if (!line.includes('"compiler-artifact"')) continue;
    const artifact = JSON.parse(line);
    packages.add(artifact.package_id);
    if (!artifact.fresh) compiled += 1;
    // The first package that is not up to date shows that this is not a moment's work.
    if (compiled === 1 && !artifact.fresh) say(`compiling ${total || 'all'} packages with Cargo, which takes 2 to 5 minutes the first time`);
    library ??= artifact.filenames.find((file) => path.basename(file) === libraryName());
  }
  const status = await ended;
  clearInterval(timer);
  if (status !== 0) fail(`\`cargo build -p sameish-node\` failed with ${status}: see the messages above`);
  return library ?? fail(`\`cargo build -p sameish-node\` did not produce \`${libraryName()}\``);
}

async function main() {
  if (existsSync(path.join(WORKSPACE, 'crates', 'sameish', 'Cargo.toml'))) {
    checkCargo();
    // Replace the file by renaming, because a running process may have loaded the old one.
    copyFileSync(await build(), `${ADDON}.new`);
    renameSync(`${ADDON}.new`, ADDON);
    for (const license of ['LICENSE-APACHE', 'LICENSE-MIT']) {
      copyFileSync(path.join(WORKSPACE, license), path.join(__dirname, license));
    }
  } else if (!existsSync(ADDON)) {
    fail('the package contains neither the addon nor its sources: install it from a checkout of sameish');
  }
}

main();
