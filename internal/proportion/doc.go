// Package proportion tests that large input does not cost more time per byte than small input. It
// is a test kit.
package proportion
