// The pages for users come before the names of the reference, and these before the pages for contributors.
var Scorer = {
  score: ([docname, , , , score]) => (/^(contributing\/|changelog$)/.test(docname) ? score / 4 : score),
  objNameMatch: 11,
  objPartialMatch: 2,
  objPrio: { 0: 0, 1: -1, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
