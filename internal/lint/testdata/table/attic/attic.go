// Package attic was forgotten in it.
package attic
