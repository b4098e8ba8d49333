// Package shell cites nothing, and needs no table.
package shell
