// Package edge reads something from somewhere, and says everything about it in a single sentence that does not end (experimental).
package edge
