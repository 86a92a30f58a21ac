// The relation of two documents, in words.
import { fixed, percent, plural } from "./dom.js";

// Names and tones of `relation`, seen from the first document to the second.
const RELATIONS = {
  same: ["Copy", "acc"], contains: ["Excerpt", "acc"], contained_in: ["Longer version", "acc"], overlaps: ["Overlap", ""],
  updated_by: ["Update", "fact"], update_of: ["Earlier version", "fact"],
};

// Name and tone of a match of a list. Events and matches without evidence have no `relation` but `same`; their measures decide.
export function matchName(match) {
  if (match.template) return ["Template", "fact"];
  if (match.match_type === "exact" || match.similarity === 1) return ["Exact copy", "acc"];
  if (RELATIONS[match.relation]) return RELATIONS[match.relation];
  return match.match_type === "near" ? RELATIONS.same : ["Similar", ""];
}

// "2 numbers and 1 name differ", or an empty text.
function factsDiffer(comparison) {
  const of = (kind) => comparison.differences.filter((d) => d.kind === kind).length;
  const [numbers, names] = [of("number"), of("name")];
  const parts = [numbers && plural(numbers, "number"), names && plural(names, "name")].filter(Boolean);
  return parts.length ? `${parts.join(" and ")} ${numbers + names === 1 ? "differs" : "differ"}` : "";
}

// Title and explanation of a comparison.
export function verdict(c) {
  const facts = factsDiffer(c);
  const shared = `${percent(c.coverage_a)} of A and ${percent(c.coverage_b)} of B are in both`;
  const all = `${shared}; ${facts || "no number or name differs"}.`;
  if (c.match_type === "exact") return ["Exact copy", "The normalized texts are equal."];
  if (c.template) return ["Template, not a copy", `The wording agrees (${percent(Math.max(c.coverage_a, c.coverage_b))} shared), but the facts do not${facts ? ": " + facts : ""}. This match alone does not put the two in one cluster.`];
  if (c.match_type === "different" && c.too_short) return ["Too short to compare", "At least one text has too few words for these settings."];
  if (c.match_type === "different") return ["Different texts", `${shared}. Their similarity of ${fixed(c.similarity)} is below the threshold.`];
  switch (c.relation) {
    case "contains": return ["Excerpt", `${percent(c.coverage_b)} of B is also in A. B has ${percent(c.words_b / c.words_a)} of the length of A.`];
    case "contained_in": return ["Excerpt", `${percent(c.coverage_a)} of A is also in B. A has ${percent(c.words_a / c.words_b)} of the length of B.`];
    case "updated_by": return ["Update", `B was published later. ${all}`];
    case "update_of": return ["Update", `A was published later. ${all}`];
    case "overlaps": return ["Overlap", all];
    default: return [c.match_type === "near" ? "Copy" : "Similar", all];
  }
}

// All measures of a comparison: name, value, unit.
export function measures(c) {
  return [
    ["Similarity", fixed(c.similarity)], ["A contained in B", fixed(c.containment_a)], ["B contained in A", fixed(c.containment_b)],
    ["Coverage of A", percent(c.coverage_a)], ["Coverage of B", percent(c.coverage_b)], ["Facts agree", fixed(c.facts)],
    ["SimHash distance", String(c.simhash_distance), "of 64 bits"], ["MinHash estimate", fixed(c.minhash_similarity)],
    ["Length of A", plural(c.words_a, "word")], ["Length of B", plural(c.words_b, "word")],
  ];
}
