// Package core stands in the table.
package core
