// Package broken is no package of the codebase: test data never is.
package broken
