// Package passive starts nothing.
package passive
