// Package console connects a simulated process with the streams of a client, or of many that come
// and go: a Read of its input ends with its context, and a terminal echoes and edits lines as Linux
// does.
//
// A Console starts goroutines by the executor of its caller. Close ends and awaits all but
// those that read the input of a client, each of which ends when that Read returns.
//
// golang.org/x/term edits lines too, but at the side of a program; a terminal device edits them for
// the program, and exists in the kernel only.
package console
