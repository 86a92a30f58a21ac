"use strict";
// Lists every route of the OpenAPI description of this service.

const target = document.getElementById("routes");

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
    element("td", {}, field.description || resolved(api, field).description || "")));
  return rows.length ? element("table", {}, element("tbody", {}, ...rows)) : element("p", {}, typeName(api, schema));
}

function parameters(list) {
  if (!list || !list.length) return null;
  const rows = list.map((p) => element("tr", {}, element("td", {}, element("code", {}, p.name)),
    element("td", {}, p.in), element("td", {}, p.description || "")));
  return element("table", {}, element("tbody", {}, ...rows));
}

function content(api, holder) {
  return Object.entries((holder && holder.content) || {}).map(([type, media]) =>
    element("div", {}, element("code", {}, type), fields(api, media.schema)));
}

function route(api, path, method, operation) {
  const responses = Object.entries(operation.responses || {});
  const successes = responses.filter(([status]) => status < "400");
  const problems = responses.filter(([status]) => status >= "400").map(([status]) => status).join(", ");
  return element("details", {},
    element("summary", {}, element("span", { class: "method" }, method.toUpperCase()), element("code", {}, path), " ", operation.summary || ""),
    element("p", {}, operation.description || ""),
    parameters(operation.parameters),
    operation.requestBody ? element("h4", {}, "Body") : null,
    ...content(api, operation.requestBody),
    ...successes.flatMap(([status, response]) => [element("h4", {}, `${status}: ${response.description}`), ...content(api, response)]),
    element("p", { class: "about" }, `Problems (application/problem+json): ${problems}`));
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
    return element("section", {}, element("h2", {}, tag.name), element("p", {}, tag.description || ""), ...routes);
  });
  replaceContent(target, ...sections);
}

show().catch((error) => replaceContent(target, errorMessage(error)));
