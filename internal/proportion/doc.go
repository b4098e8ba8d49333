// Package proportion tests that large work takes in proportion as long as small work, so that
// input of an unusual size costs no more than its bytes: a test kit.
package proportion
