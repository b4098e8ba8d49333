// Package plain turns errors into sentences for people. The errors of this module are
// prefixed by package, which helps programmers; a person who asks the agent why a pod
// is as it is has no use for "node: ...: runtime: not found".
//
// It is the one place that takes the prefixes off, where an answer leaves for a person:
// errors keep their texts, and whoever judges one asks errors.Is. A test holds the list
// of packages to those that there are.
package plain
