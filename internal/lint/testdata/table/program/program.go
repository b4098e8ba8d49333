// Package program stands there as a program.
package program
