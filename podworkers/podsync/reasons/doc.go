// Package reasons has the words by which statuses say why a container waits or how it
// has ended, and what each of them means. Decisions, statuses, errors of a sync and
// explanations for people all use them from here.
//
// A new reason for which a container waits is a change of waiting.go alone: one constant,
// one row in the table of meanings, and, if it follows from the pod and its published
// status, one case in NotCreated. The sentence in its row is what the explanation of a
// pod says.
//
// It is pure.
package reasons
