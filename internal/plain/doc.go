// Package plain turns errors into sentences for people: it removes the package prefixes,
// such as "node: ...: runtime: ", where an answer is shown to a person. Errors themselves
// keep their texts; code compares them with errors.Is. A test compares the list of packages
// with those that exist.
package plain
