"use strict";
// What both pages need: elements made of text only, so that nothing stored is ever read as markup; and questions with a key.

const NAME = "sameish-key";

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") made.className = value;
    else made.setAttribute(key, value);
  }
  for (const child of children) {
    if (child === null || child === undefined) continue;
    made.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return made;
}

async function ask(path, body) {
  const headers = { accept: "application/json" };
  const key = sessionStorage.getItem(NAME);
  if (key) headers.authorization = "Bearer " + key;
  const options = { headers };
  if (body !== undefined) {
    options.method = "POST";
    headers["content-type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const response = await fetch(path, options);
  const answer = await response.json();
  if (response.status === 401) document.getElementById("key-form").hidden = false;
  if (!response.ok) throw new Error(answer.detail || answer.title || String(response.status));
  return answer;
}

function fill(target, ...children) {
  target.replaceChildren(...children);
}

function failed(error) {
  return element("p", { class: "error" }, error.message);
}

document.getElementById("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(NAME, document.getElementById("key").value.trim());
  location.reload();
});
