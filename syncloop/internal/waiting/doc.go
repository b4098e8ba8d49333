// Package waiting decides which pods are admitted, which are rejected, and which wait until
// other pods have ended.
//
// An AdmissionQueue holds three kinds of pods: those that stay, those that are terminating,
// and those that wait, in order of arrival. A new pod is asked about twice:
//
//	with all three                              admitted: it starts
//	with those that stay and those that wait    admitted: it waits; refused: it is rejected
//
// So a pod waits only if terminating pods are the reason. A waiting pod counts like one
// that stays: what it needs is reserved, and no later pod takes it. When something has
// changed, Review asks about the waiting pods again, in their order. A pod may have a
// limit: it is rejected when the pods that it waits for should have ended, plus Margin.
//
// The package is pure: time is an argument, and the question is a function of the other
// pods.
package waiting
