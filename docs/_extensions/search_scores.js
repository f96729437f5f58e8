// A page that is read from a file cannot fetch others, of which excerpts are shown.
DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = location.protocol !== "file:";
// The names of the reference, pages that define terms, other pages for users, then members of classes and the pages
// for contributors.
const FACTORS = [
  [/^(rules|path_finding|planning|environments\/.*)$/, 1.9],
  [/^(start|using|watching|pretrained|how_to\/.*)$/, 1.8],
  [/^coming_from\/.*$/, 1.6],
  [/^(contributing\/.*|changelog)$/, 0.25],
];
const MEMBER = /\.[A-Z]\w*\.\w+$/;
var Scorer = {
  score: ([docname, title, , , score, , kind]) => {
    if (kind === "object" && MEMBER.test(title)) return score / 4;
    const [, factor] = FACTORS.find(([names]) => names.test(docname)) ?? [null, 1];
    return score * factor;
  },
  objNameMatch: 11,
  objPartialMatch: 2,
  objPrio: { 0: 0, 1: -1, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
