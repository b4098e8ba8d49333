// Package edge is free to do what it must.
package edge

func run() { go run() }
