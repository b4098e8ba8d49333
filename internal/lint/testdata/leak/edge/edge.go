// Package edge starts something and has no tests at all.
package edge

func run() { go run() }
