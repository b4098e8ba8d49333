// Package respond has what the HTTP handlers of a node have in common: texts that no browser
// takes for anything else, errors with a status that fits, lists of pods, answers that are
// sent as they come, and a bound on how many of them there are.
package respond
