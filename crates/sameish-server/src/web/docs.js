"use strict";
// Lists every route of the OpenAPI description of this service, with a curl command and a form that sends the request.

const target = document.getElementById("routes");

// Descriptions contain two Markdown elements: code in backticks, and blank lines between paragraphs.
function inline(text) {
  return String(text || "").split("`").map((part, at) => at % 2 ? element("code", {}, part) : document.createTextNode(part));
}

function paragraphs(text) {
  return String(text || "").split(/\n\s*\n/).filter((part) => part.trim()).map((part) => element("p", {}, ...inline(part)));
}

function resolved(api, schema, depth = 0) {
  if (!schema || depth > 6) return {};
  if (schema.$ref) return resolved(api, api.components.schemas[schema.$ref.split("/").pop()], depth + 1);
  return schema;
}

function typeName(api, schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  const choices = schema.oneOf || schema.anyOf;
  if (choices && !schema.properties) return choices.map((s) => typeName(api, s)).join(" or ");
  const type = [].concat(schema.type || "any").join(" or ");
  return type === "array" ? "array of " + typeName(api, schema.items) : type;
}

function fields(api, schema) {
  const object = resolved(api, schema);
  const rows = Object.entries(object.properties || {}).map(([name, field]) => element("tr", {},
    element("td", {}, element("code", {}, name), (object.required || []).includes(name) ? "" : " (optional)"),
    element("td", {}, typeName(api, field)),
    element("td", {}, ...inline(field.description || resolved(api, field).description))));
  return rows.length ? element("table", {}, element("tbody", {}, ...rows)) : element("p", {}, typeName(api, schema));
}

function parameters(list) {
  if (!list || !list.length) return null;
  const rows = list.map((p) => element("tr", {}, element("td", {}, element("code", {}, p.name)),
    element("td", {}, p.in), element("td", {}, ...inline(p.description))));
  return element("table", {}, element("tbody", {}, ...rows));
}

function content(api, holder) {
  return Object.entries((holder && holder.content) || {}).map(([type, media]) =>
    element("div", {}, element("code", {}, type), fields(api, media.schema)));
}

// Values with which a new user can start: they work on the collections that exist after every start.
const EXAMPLE_PATH = { collection: "articles", id: "a-1", cluster: "1" };
const EXAMPLE_TEXT = "The council voted on Monday to close the old bridge for repairs until spring.";
const EXAMPLE_BODIES = {
  "post /api/v1/{collection}": { id: "a-1", title: "Old bridge closes", text: EXAMPLE_TEXT, topic: "roads" },
  "put /api/v1/{collection}/{id}": { title: "Old bridge closes", text: EXAMPLE_TEXT },
  "post /api/v1/{collection}/query": { text: EXAMPLE_TEXT, evidence: true },
  "post /api/v1/compare": { a: EXAMPLE_TEXT, b: EXAMPLE_TEXT.replace("Monday", "Tuesday") },
  "put /api/v1/{collection}": { preset: "headlines", retention_days: 30 },
  "post /api/v1/snapshot": {},
};
const EXAMPLE_LINES = [{ id: "a-2", text: EXAMPLE_TEXT }, { delete: "a-2" }].map((line) => JSON.stringify(line)).join("\n");

// What a request consists of. The curl command and the form show the same request.
function describe(path, method, operation) {
  const types = Object.keys((operation.requestBody && operation.requestBody.content) || {});
  const isNdjson = types.includes("application/x-ndjson");
  const example = EXAMPLE_BODIES[`${method} ${path}`];
  const values = {};
  for (const p of operation.parameters || []) {
    if (p.in === "path") values[p.name] = EXAMPLE_PATH[p.name] || "";
    else if (p.in === "query") values[p.name] = "";
  }
  if (method === "put" && path === "/api/v1/{collection}") values.collection = "my-headlines";
  const body = isNdjson ? EXAMPLE_LINES : types.length ? JSON.stringify(example || {}, null, 1) : null;
  return { path, method: method.toUpperCase(), type: types[0], isNdjson, values, body };
}

function requestPath(call, values) {
  const path = call.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] || ""));
  const query = Object.entries(values).filter(([name, value]) => value !== "" && !call.path.includes(`{${name}}`));
  return path + (query.length ? "?" + new URLSearchParams(query) : "");
}

function shellQuoted(text) {
  return "'" + text.replaceAll("'", "'\\''") + "'";
}

function curlCommand(call, values, body) {
  const parts = ["curl"];
  if (call.method !== "GET" && !(call.method === "POST" && body !== null)) parts.push("-X " + call.method);
  if (key) parts.push("-H \"Authorization: Bearer $SAMEISH_KEY\"");
  parts.push(shellQuoted(location.origin + requestPath(call, values)));
  if (body !== null) {
    parts.push("-H " + shellQuoted("content-type: " + call.type));
    // `-d` would remove the line breaks between documents.
    parts.push((call.isNdjson ? "--data-binary " : "-d ") + shellQuoted(body));
  }
  return parts.join(" \\\n  ");
}

async function send(call, values, body) {
  const headers = {};
  if (key) headers.authorization = "Bearer " + key;
  if (body !== null) headers["content-type"] = call.type;
  const options = { method: call.method, headers };
  if (body !== null) options.body = body;
  const response = await fetch(requestPath(call, values), options);
  if (response.status === 401) document.getElementById("key-form").hidden = false;
  return { status: `${response.status} ${response.statusText}`, text: await response.text() };
}

// Indents JSON without changing its numbers, of which JavaScript would round the long ones.
function readable(text) {
  try {
    const parsed = JSON.parse(text);
    return /\d{16}/.test(text) ? text : JSON.stringify(parsed, null, 2);
  } catch {
    return text;
  }
}

function tryIt(call) {
  const inputs = Object.entries(call.values).map(([name, value]) => {
    const input = element("input", { name, autocomplete: "off" });
    input.value = value;
    return { name, input };
  });
  const area = call.body === null ? null : element("textarea", { name: "body", rows: "6", spellcheck: "false" });
  if (area) area.value = call.body;
  const command = element("pre", { class: "curl" });
  const result = element("div", { "aria-live": "polite" });
  const current = () => ({
    values: Object.fromEntries(inputs.map(({ name, input }) => [name, input.value])),
    body: area ? area.value : null,
  });
  const update = () => replaceContent(command, curlCommand(call, current().values, current().body));
  const form = element("form", { class: "try-it" },
    ...inputs.map(({ name, input }) => element("label", {}, element("code", {}, name), input)),
    area ? element("label", {}, "Body", area) : null,
    element("button", {}, "Send"));
  form.addEventListener("input", update);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const { status, text } = await send(call, current().values, current().body);
      replaceContent(result, element("p", {}, element("strong", {}, status)), element("pre", { class: "text" }, readable(text)));
    } catch (error) {
      replaceContent(result, errorMessage(error));
    }
  });
  update();
  return element("div", {}, element("h4", {}, "curl"), command, element("h4", {}, "Try it"), form, result);
}

function route(api, path, method, operation) {
  const responses = Object.entries(operation.responses || {});
  const successes = responses.filter(([status]) => status < "400");
  const problems = responses.filter(([status]) => status >= "400").map(([status]) => status).join(", ");
  return element("details", {},
    element("summary", {}, element("span", { class: "method" }, method.toUpperCase()), element("code", {}, path), " ", ...inline(operation.summary)),
    ...paragraphs(operation.description),
    parameters(operation.parameters),
    operation.requestBody ? element("h4", {}, "Body") : null,
    ...content(api, operation.requestBody),
    ...successes.flatMap(([status, response]) => [element("h4", {}, `${status}: `, ...inline(response.description)), ...content(api, response)]),
    element("p", { class: "about" }, `Problems (application/problem+json): ${problems}`),
    tryIt(describe(path, method, operation)));
}

async function show() {
  const api = await request("/openapi.json");
  const sections = api.tags.map((tag) => {
    const routes = [];
    for (const [path, item] of Object.entries(api.paths)) {
      for (const [method, operation] of Object.entries(item)) {
        if ((operation.tags || []).includes(tag.name)) routes.push(route(api, path, method, operation));
      }
    }
    return element("section", {}, element("h2", {}, tag.name), ...paragraphs(tag.description), ...routes);
  });
  replaceContent(target, ...sections);
}

start(() => show().catch((error) => replaceContent(target, errorMessage(error))));
