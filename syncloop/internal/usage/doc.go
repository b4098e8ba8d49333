// Package usage adds up what the pods of a node take of it: resources, host ports
// and names. The sums are kept while pods come and go, so that no question about
// them takes time in proportion to the number of pods.
//
//	Item    what one pod takes
//	Sums    what several pods take together
//
// It is pure: it decides nothing, and has no lock.
package usage
