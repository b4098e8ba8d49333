// Package core is told by
// whoever wants a picture. Its volumes exist on
// paper.
package core
