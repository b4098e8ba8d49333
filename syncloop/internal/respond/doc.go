// Package respond has the common parts of a node's HTTP handlers: plain text answers, errors with their status
// codes, lists of pods, streamed answers, and a bound on concurrent requests.
package respond
