// First the names of the reference, then the pages for users, then members of classes and the pages for contributors.
const USERS = /^(start|rules|using|watching|path_finding|planning|pretrained|(environments|how_to|coming_from)\/.*)$/;
const LATER = /^(contributing\/.*|changelog)$/;
const MEMBER = /\.[A-Z]\w*\.\w+$/;
var Scorer = {
  score: ([docname, title, , , score, , kind]) => {
    if (LATER.test(docname) || (kind === "object" && MEMBER.test(title))) return score / 4;
    return USERS.test(docname) ? 1.8 * score : score;
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
