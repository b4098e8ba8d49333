package lint

// unruled are the packages that cite rules and have no RULES.md yet. The list only
// shrinks.
var unruled = []string{}

// uncontracted are those whose comments are longer than a contract, or cite rules. The
// list only shrinks.
var uncontracted = []string{}
