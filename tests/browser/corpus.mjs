// Texts that the demo does not have: long ones, and hostile ones.

const WORDS = ("river bridge winter market engineer budget neighbor morning quarter tunnel station garden lantern village permit contract survey "
  + "account pattern weather journey signal record window captain harvest meadow printer journal council teacher student visitor driver "
  + "painter builder farmer sailor doctor singer writer worker member office street corner platform ticket timetable balance capital "
  + "revenue forecast estimate proposal objection hearing verdict appeal statute motion ballot district border highway canal vessel").split(" ");

// A generator of equal numbers in every run (mulberry32).
export function random(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const pick = (next, list) => list[Math.floor(next() * list.length)];
function sentence(next) {
  const words = Array.from({ length: 9 + Math.floor(next() * 9) }, () => pick(next, WORDS));
  return words[0][0].toUpperCase() + words.join(" ").slice(1) + ".";
}
const paragraph = (next) => Array.from({ length: 4 }, () => sentence(next)).join(" ");

// Two texts of about `size` characters that share most paragraphs, in another order.
export function longPair(size) {
  const next = random(5);
  const paragraphs = [];
  for (let length = 0; length < size; length += paragraphs.at(-1).length + 2) paragraphs.push(paragraph(next));
  const other = paragraphs.map((text, at) => (at % 40 === 7 ? paragraph(next) : text));
  const third = Math.floor(other.length / 3);
  return [paragraphs.join("\n\n"), [...other.slice(third), ...other.slice(0, third)].join("\n\n")];
}

// Strings that become markup, a script or a request where a page inserts them carelessly.
const HOSTILE = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\"><svg onload=alert(1)>", "'><iframe src='javascript:alert(1)'></iframe>", "</textarea></title><script>alert(1)</script>",
  "<img src='http://evil.example/pixel.png'>", "<base href='http://evil.example/'>", "${alert(1)}{{constructor.constructor('alert(1)')()}}", "&lt;script&gt;alert(1)&lt;/script&gt;", "\u202e<b>right to left</b>"];

export function hostile() {
  const next = random(11);
  return HOSTILE.flatMap((text, at) => {
    const body = `${text} ${paragraph(next)} ${paragraph(next)} ${text}`;
    const one = (n, hour) => ({ id: `h${at}.${n} ${text}`, title: `${n} ${text}`, host: `${n} ${text}`, url: `javascript:alert(${n})//${text}`, published_at: `2026-01-02T0${hour}:00:00Z`, text: body, lang: text });
    return [one(1, 1), one(2, 2)];
  });
}
