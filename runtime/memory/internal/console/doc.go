// Package console connects a simulated process with the streams of one client, or of many clients
// that attach and detach. A Read of the process returns when the context of the process ends. A
// terminal echoes input and edits lines as Linux does.
//
// A Console starts goroutines with the executor of its caller. Close stops them and waits for them,
// except for the goroutines that read the input of a client. Those exit when their Read returns.
//
// golang.org/x/term edits lines too, but for the program at the other side of a terminal. The line
// editing of a terminal device exists in the kernel only.
package console
