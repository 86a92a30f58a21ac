// Takes screenshots of the demo: node shots.mjs DIRECTORY [NAME...]
//
// Without names, every view in light and dark, wide and narrow. The pictures of docs/page.md are `docs-*`. The system font of the
// pictures is Inter; install fonts-inter, fonts-noto-core and fonts-noto-cjk.
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch, openPage, Service } from "./service.mjs";

const fonts = join(mkdtempSync(join(tmpdir(), "sameish-fonts-")), "fonts.conf");
const alias = (name) => `<match target="pattern"><test name="family"><string>${name}</string></test><edit name="family" mode="prepend" binding="strong"><string>Inter</string></edit></match>`;
writeFileSync(fonts, `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><include>/etc/fonts/fonts.conf</include>${["system-ui", "sans-serif", "sans"].map(alias).join("")}</fontconfig>`);
process.env.FONTCONFIG_FILE = fonts;

const [directory = "shots", ...names] = process.argv.slice(2);
mkdirSync(directory, { recursive: true });
const service = await Service.start(["--demo"]);
const browser = await launch();
const clusterOf = async (id) => (await service.call("GET", `/api/v1/articles/${id}`)).cluster;
const VIEWS = {
  overview: "articles", live: "articles/live", clusters: "articles/clusters", cluster: `articles/clusters/${await clusterOf("harbor-1")}`,
  text: "articles/doc/harbor-1", copy: "articles/doc/harbor-1/harbor-5", update: "articles/doc/harbor-1/harbor-8", template: "articles/doc/results-hydra/results-boreal", arabic: "articles/doc/mina-1/mina-2",
  japanese: "articles/doc/minato-1/minato-3", compare: "articles/compare", lab: "articles/lab?t=0.7", sources: "articles/sources", edits: "articles/edits", headlines: "headlines",
};
// The pictures of the documentation: view, colors, size.
const DOCS = { "docs-cluster": ["cluster", "light", 1280, 1370], "docs-document": ["template", "light", 1280, 1240], "docs-lab": ["lab", "dark", 1280, 1160] };

async function shot(name, view, colorScheme, width, height, fullPage) {
  if (names.length && !names.some((one) => name.startsWith(one))) return;
  const page = await openPage(browser, service.origin, { viewport: { width, height }, colorScheme });
  await page.at(VIEWS[view]);
  if (view === "compare") await page.getByRole("button", { name: "Show an example" }).click();
  await page.waitForLoadState("networkidle").catch(() => {});
  await page.waitForTimeout(300);
  await page.screenshot({ path: `${directory}/${name}.png`, fullPage });
  if (page.faults.length) console.log(name, page.faults);
  await page.context().close();
}

for (const [name, options] of Object.entries(DOCS)) await shot(name, ...options, false);
// An edit and an arrival, so that those views are not empty.
const { members } = await service.call("GET", `/api/v1/articles/clusters/${await clusterOf("storm-1")}`);
await service.call("POST", "/api/v1/articles/edits", { kind: "split", cluster: await clusterOf("storm-1"), documents: [members.at(-1).id] });
for (const [view] of Object.entries(VIEWS)) {
  for (const colorScheme of ["light", "dark"]) {
    await shot(`${view}-wide-${colorScheme}`, view, colorScheme, 1280, 900, true);
    await shot(`${view}-narrow-${colorScheme}`, view, colorScheme, 390, 844, true);
  }
}
await browser.close();
await service.remove();
