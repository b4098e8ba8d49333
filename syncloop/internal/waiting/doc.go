// Package waiting decides which pods are admitted, which are refused, and which
// wait because something has to end first.
//
// An AdmissionQueue holds three kinds of pods: those that stay, those that are ending, and
// those that wait, in order of arrival. A pod that arrives is asked about twice:
//
//	beside all three                            admitted: it starts
//	beside those that stay and those that wait  admitted: it waits; refused: it is refused
//
// So a pod waits only if the pods that are ending are the reason. Whoever waits
// counts like a pod that stays: what it needs is reserved, and a later pod, however
// small, does not get in its way. When something has changed, Review asks about the
// waiting pods again, in their order.
//
// A pod may have a limit to its patience. It is refused when the pods that it waits
// for should have ended, and Margin has passed since then.
//
// The package is pure: time comes as an argument, and the question is a function of
// what the pod would have beside it.
package waiting
