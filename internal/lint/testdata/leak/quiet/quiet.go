// Package quiet starts nothing.
package quiet
