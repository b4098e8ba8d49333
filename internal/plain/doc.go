// Package plain turns errors into sentences for people. It removes the prefixes of packages, such as "node: ...:
// runtime: ", before a text is shown to a person. The errors themselves keep their texts, and code compares them with
// errors.Is. A test compares the list of packages with the packages of the module.
package plain
