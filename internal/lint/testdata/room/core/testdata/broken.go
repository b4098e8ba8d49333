// Package broken is no package of the house: test data never is.
package broken
