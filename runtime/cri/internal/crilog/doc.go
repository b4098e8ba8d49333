// Package crilog understands the log files that a CRI runtime writes, a line for
// each piece of what a container prints:
//
//	2026-11-21T12:00:00.000000001Z stdout P the beginning of a long
//	2026-11-21T12:00:00.000000002Z stdout F  line
//
// The pieces of a line (P, and F for its last) are put together again, those of
// stdout apart from those of stderr, so that two long lines do not get into each
// other. It is pure: a Decoder is fed the bytes of a file, in pieces of any size,
// and gives what the container printed.
//
// # Bounds
//
// Of a line of the file longer than a mebibyte the rest is dropped, and no more
// than a mebibyte of a line of the container is held back for its end to come:
// the pieces of a longer one are given as they are.
//
// # Differences from the kubelet
//
// The kubelet shows pieces in the order of the file, into whatever comes between,
// and leaves a piece out that is older than asked for: here a line is as old as
// its first piece, and is shown whole or not at all. A line of the file that is
// none of CRI's is left out silently, as it may be half of one after a crash.
package crilog
