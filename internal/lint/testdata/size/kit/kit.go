// Package kit is not counted.
package kit

// Help helps.
func Help() {}
