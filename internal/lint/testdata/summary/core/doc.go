// Package core decides something. It does not say that it is experimental.
package core
