// Package core is at the bottom.
package core
