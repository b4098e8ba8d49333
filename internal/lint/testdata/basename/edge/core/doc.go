// Package core has a name.
package core
