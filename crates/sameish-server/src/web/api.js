// Requests to the service. The key is a variable of this tab: it is neither in an address nor in any storage.

let key = null;
export const hasKey = () => key !== null;
export function useKey(text) {
  key = text.trim() || null;
}

// Reports whether the service responds: the page shows a banner while it does not.
export const connection = new EventTarget();
let isDown = false;
function report(down) {
  if (down === isDown) return;
  isDown = down;
  connection.dispatchEvent(new Event(down ? "down" : "up"));
}

export class ProblemError extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `status ${status}`);
    this.status = status;
    this.title = problem.title || "The request failed";
    this.requestId = problem.request_id;
    this.problem = problem;
  }
}

export class NoService extends Error {}

// JavaScript rounds integers beyond 2^53, and ids can be such integers: they become strings with a marker.
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const LONG_ID = "\u0000integer:";
const MARKED = /"\\u0000integer:(-?\d+)"/g;
const isLong = (token) => /^-?\d{16,}$/.test(token);
export function parse(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text.replace(TOKEN, (token) => (isLong(token) ? JSON.stringify(LONG_ID + token) : token)));
}

// An id as it is shown, and as it stands in a path: a path does not contain the type of an id, so that a string of digits is quoted.
export const idText = (id) => (typeof id === "string" && id.startsWith(LONG_ID) ? id.slice(LONG_ID.length) : String(id));
const RESERVED = new Set("bulk query clusters documents edits events export histogram labels preview sources".split(" "));
export function idPath(id) {
  const isText = typeof id === "string" && !id.startsWith(LONG_ID);
  const needsQuotes = isText && (/^-?\d+$/.test(id) || id.startsWith("\"") || RESERVED.has(id));
  return needsQuotes ? JSON.stringify(id) : idText(id);
}
// What a user typed as an id: digits can be of either type, and only the name of a route needs quotes.
export const typedPath = (text) => (RESERVED.has(text) ? JSON.stringify(text) : text);

export const url = (...parts) => "/api/v1/" + parts.map(encodeURIComponent).join("/");

function pause(seconds, signal) {
  return new Promise((done, fail) => {
    const timer = setTimeout(done, seconds * 1000);
    signal?.addEventListener("abort", () => { clearTimeout(timer); fail(signal.reason); }, { once: true });
  });
}

async function send(path, options) {
  try {
    const response = await fetch(path, options);
    report(false);
    return response;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    report(true);
    throw new NoService("the service does not respond");
  }
}

function settings(extra, signal) {
  const headers = { accept: "application/json", ...extra };
  if (key) headers.authorization = "Bearer " + key;
  return { headers, signal, cache: "no-store" };
}

async function failure(response) {
  const text = await response.text();
  try {
    return new ProblemError(response.status, parse(text));
  } catch {
    return new ProblemError(response.status, {});
  }
}

// Sends a request. If the service is busy, it has done nothing: the request is repeated after the time that the service requests,
// at most twice.
async function request(path, options) {
  for (let attempt = 0; ; attempt++) {
    const response = await send(path, options);
    if (response.ok) return response;
    const wait = Number(response.headers.get("retry-after"));
    const isBusy = response.status === 429 || response.status === 503;
    if (!isBusy || !wait || attempt === 2) throw await failure(response);
    await pause(Math.min(wait, 10), options.signal);
  }
}

export async function get(path, signal) {
  const response = await request(path, settings({}, signal));
  return parse(await response.text());
}

export async function post(path, body, signal) {
  const options = settings({ "content-type": "application/json" }, signal);
  const response = await request(path, { ...options, method: "POST", body: JSON.stringify(body).replace(MARKED, "$1") });
  return parse(await response.text());
}

// Compares two texts with the settings of a collection or of a preset, and gives offsets in UTF-16 units. `more` has the texts, their
// dates and `collection` or `preset`.
export const compare = (more, signal) => post("/api/v1/compare", { ...more, offsets: "utf16" }, signal);

export const remove = (path) => request(path, { ...settings({}), method: "DELETE" });

export async function stream(path, headers, signal) {
  const response = await send(path, settings({ ...headers, accept: "text/event-stream" }, signal));
  if (!response.ok) throw await failure(response);
  return response.body.pipeThrough(new TextDecoderStream()).getReader();
}

export const query = (values) => {
  const given = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return given.length ? "?" + new URLSearchParams(given) : "";
};
