// Package passive keeps something (experimental).
package passive
