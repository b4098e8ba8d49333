// Package usage adds up what the pods of a node use: resources, host ports and full names.
// The sums are updated as pods come and go, so no question takes time in proportion to the
// number of pods.
//
//	Item    what one pod uses
//	Sums    what several pods use together
//
// It is pure and makes no decision.
package usage
