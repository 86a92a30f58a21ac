// Reads server-sent events with `fetch`, because `EventSource` cannot send a key. Reconnects where the stream ended.
import { NoService, stream } from "./api.js";

const RECENT = 30;
const pause = (ms, signal) => new Promise((done) => {
  const timer = setTimeout(done, ms);
  signal.addEventListener("abort", () => { clearTimeout(timer); done(); }, { once: true });
});

// Splits a stream of text into events `{ id, event, data }` and comments `{ comment }`.
export function parser(emit) {
  let rest = "";
  let fields = {};
  const line = (text) => {
    if (text === "") {
      if (fields.data !== undefined) emit(fields);
      fields = {};
    } else if (text.startsWith(":")) emit({ comment: text.slice(1).trim() });
    else {
      const at = text.indexOf(":");
      const name = at < 0 ? text : text.slice(0, at);
      const value = at < 0 ? "" : text.slice(at + 1).replace(/^ /, "");
      fields[name] = name === "data" && fields.data !== undefined ? fields.data + "\n" + value : value;
    }
  };
  return (chunk) => {
    const lines = (rest + chunk).split(/\r?\n/);
    rest = lines.pop();
    lines.forEach(line);
  };
}

// A position is a sequence number and, after a hyphen, a check value that tells events of equal numbers apart.
const earlier = (position, by) => String(Math.max(0, Number.parseInt(position, 10) - by));

// Reads until `signal` aborts. `from` is the position of the last event that is known, or null: then the stream begins with recent
// events. `event(data)` gets each event. `told(state)` gets "open", "closed", "lost" if events after `from` are not available any more,
// or an error that another attempt cannot resolve.
export async function follow(path, from, signal, { event, told, parse }) {
  let last = from;
  // Whether `last` is a guess at where recent events begin.
  let isGuess = false;
  let wait = 500;
  while (!signal.aborted) {
    const connection = new AbortController();
    const stop = () => connection.abort();
    signal.addEventListener("abort", stop, { once: true });
    let restart = false;
    const read = parser((item) => {
      if (item.comment !== undefined) {
        const position = /^sequence (\S+)/.exec(item.comment)?.[1];
        if (!position || last !== null) return;
        last = earlier(position, RECENT);
        isGuess = true;
        restart = last !== earlier(position, 0);
      } else if (item.event === "end") wait = 200;
      else if (!restart) {
        const data = parse(item.data);
        last = data.position;
        isGuess = false;
        event(data);
      }
    });
    try {
      const reader = await stream(path, last === null ? {} : { "last-event-id": last }, connection.signal);
      told("open");
      wait = 500;
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        read(value);
        if (restart) break;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 410) {
        if (isGuess) last = String(error.problem.resume_from);
        else {
          told("lost");
          last = null;
        }
        isGuess = false;
        continue;
      }
      if (error.status && error.status !== 429 && error.status < 500) return told(error);
      if (!(error instanceof NoService)) wait = Math.max(wait, 1000);
    } finally {
      signal.removeEventListener("abort", stop);
      connection.abort();
    }
    if (restart) continue;
    told("closed");
    await pause(wait, signal);
    wait = Math.min(wait * 2, 5000);
  }
}
