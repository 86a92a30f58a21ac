"use strict";
// Shared by both pages: elements built from text nodes, so that stored text is never parsed as markup, and requests with a key.

const KEY_NAME = "sameish-key";

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

async function request(path, body) {
  const headers = { accept: "application/json" };
  const key = sessionStorage.getItem(KEY_NAME);
  if (key) headers.authorization = "Bearer " + key;
  const options = { headers };
  if (body !== undefined) {
    options.method = "POST";
    headers["content-type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const response = await fetch(path, options);
  const content = await response.json();
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

document.getElementById("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEY_NAME, document.getElementById("key").value.trim());
  location.reload();
});
