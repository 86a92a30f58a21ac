// Starts the service and the browser for a test.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = fileURLToPath(new URL("../../", import.meta.url));
const program = process.env.SAMEISH || resolve(root, process.env.CARGO_TARGET_DIR || "target", "debug/sameish");

export class Service {
  static async start(options = [], environment = {}) {
    const service = new Service();
    service.directory = mkdtempSync(join(tmpdir(), "sameish-page-"));
    service.options = options;
    service.environment = environment;
    await service.run("127.0.0.1:0");
    return service;
  }

  run(listen) {
    this.child = spawn(program, ["serve", "--listen", listen, "--data", join(this.directory, "data"), ...this.options], { stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, ...this.environment } });
    this.ended = new Promise((done) => this.child.once("exit", done));
    return new Promise((done, fail) => {
      let text = "";
      this.child.stdout.on("data", (chunk) => {
        text += chunk;
        const found = /listening on (http:\/\/\S+)/.exec(text);
        if (found) done((this.origin = found[1]));
      });
      this.ended.then((code) => fail(new Error(`the service ended with code ${code}`)));
    });
  }

  async stop() {
    this.child.kill("SIGTERM");
    await this.ended;
  }

  async restart() {
    await this.run(new URL(this.origin).host);
  }

  async remove() {
    if (this.child.exitCode === null) await this.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }

  async call(method, path, body, headers = {}) {
    const response = await fetch(this.origin + path, { method, body: body && JSON.stringify(body), headers: { "content-type": "application/json", ...headers } });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  async load(documents, collection = "articles") {
    const body = documents.map((d) => JSON.stringify(d)).join("\n");
    const response = await fetch(`${this.origin}/api/v1/${collection}/bulk`, { method: "POST", body, headers: { "content-type": "application/x-ndjson" } });
    const lines = (await response.text()).trim().split("\n").map(JSON.parse);
    const failed = lines.find((line) => !["added", "stored", "inserted", "created", "too_short", "duplicate", "new"].includes(line.status));
    if (failed) throw new Error(`a document was not stored: ${JSON.stringify(failed)}`);
  }
}

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage"] });

// With SAMEISH_WEB=DIRECTORY, the files of the page come from that directory instead of the binary.
async function fromDisk(context) {
  const directory = process.env.SAMEISH_WEB;
  if (!directory) return;
  const fileOf = (url) => join(directory, url.pathname === "/" ? "index.html" : url.pathname.replace("/assets/", "/"));
  await context.route((url) => (url.pathname === "/" || url.pathname.startsWith("/assets/")) && existsSync(fileOf(url)), async (route) => {
    // A page that closes meanwhile needs no answer.
    const answer = async () => route.fulfill({ response: await route.fetch(), body: readFileSync(fileOf(new URL(route.request().url()))) });
    await answer().catch(() => {});
  });
}

// A page that records everything that must not happen: dialogs, violations of the policy, errors, requests to other hosts.
export async function openPage(browser, origin, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", ...options });
  await fromDisk(context);
  await context.addInitScript(() => {
    // The text of an element without the numbers of passages, which are not part of it.
    globalThis.textWithoutNumbers = (node) => {
      const copy = node.cloneNode(true);
      for (const number of copy.querySelectorAll(".pn")) number.remove();
      return copy.textContent;
    };
  });
  const page = await context.newPage();
  page.setDefaultTimeout(15000);
  page.faults = [];
  page.on("dialog", (dialog) => { page.faults.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("pageerror", (error) => page.faults.push(`error: ${error.message}`));
  page.on("console", (message) => /Content.Security|Refused to/i.test(message.text()) && page.faults.push(`policy: ${message.text()}`));
  page.on("request", (request) => !request.url().startsWith(origin) && !/^(blob|data):/.test(request.url()) && page.faults.push(`request to ${request.url()}`));
  page.at = (address) => page.goto(`${origin}/#/${address}`);
  return page;
}
