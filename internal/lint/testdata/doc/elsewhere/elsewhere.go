// Package elsewhere says so in another file than doc.go.
package elsewhere
