"use strict";
// Shared by both pages: elements built from text nodes, so that stored text is never parsed as markup, and requests with a key.

// The key is a variable of this tab: it is neither in the address nor in any storage.
let key = null;

function element(name, properties = {}, ...children) {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") created.className = value;
    else created.setAttribute(key, value);
  }
  for (const child of children) {
    if (child === null || child === undefined) continue;
    created.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return created;
}

// JSON.parse rounds integers beyond 2^53, but ids have up to 64 bits. Such integers become BigInt values.
const LONG_INTEGER = "\u0000integer";

function parseJson(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const wrapped = text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g,
    (token) => /^-?\d{16,}$/.test(token) ? JSON.stringify({ [LONG_INTEGER]: token }) : token);
  return JSON.parse(wrapped, (_, value) => {
    const digits = value && value[LONG_INTEGER];
    if (digits === undefined || digits === null) return value;
    return Number.isSafeInteger(Number(digits)) ? Number(digits) : BigInt(digits);
  });
}

// An id as it is written in JSON: a string has quotes, a number has none.
function idText(id) {
  return typeof id === "string" ? JSON.stringify(id) : String(id);
}

async function request(path, body) {
  const headers = { accept: "application/json" };
  if (key) headers.authorization = "Bearer " + key;
  const options = { headers };
  if (body !== undefined) {
    options.method = "POST";
    headers["content-type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const response = await fetch(path, options);
  const content = parseJson(await response.text());
  if (response.status === 401) document.getElementById("key-form").hidden = false;
  if (!response.ok) throw new Error(content.detail || content.title || String(response.status));
  return content;
}

function replaceContent(target, ...children) {
  target.replaceChildren(...children);
}

function errorMessage(error) {
  return element("p", { class: "error" }, error.message);
}

// Calls `load` now, and again whenever the user has entered a key.
function start(load) {
  document.getElementById("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const input = document.getElementById("key");
    key = input.value.trim() || null;
    input.value = "";
    event.target.hidden = true;
    load();
  });
  load();
}
