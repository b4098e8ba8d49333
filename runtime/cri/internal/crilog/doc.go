// Package crilog decodes the log files that a CRI runtime writes, with one line for each
// piece of a container's output:
//
//	2026-11-21T12:00:00.000000001Z stdout P the beginning of a long
//	2026-11-21T12:00:00.000000002Z stdout F  line
//
// The pieces of a line (P, and F for the last one) are joined, those of stdout apart from
// those of stderr. The package is pure: a Decoder gets the bytes of a file, in pieces of
// any size, and returns the container's output.
//
// A line of the file is cut after a mebibyte. At most a mebibyte of a container's line is
// held back until its end comes; the pieces of a longer line are returned as they are.
//
// It is a package of its own so that it stays pure: package logfile, its one importer, reads files.
//
// k8s.io/cri-client/pkg/logs has such a decoder. It exports the decoder only together with the files
// that it reads.
package crilog
