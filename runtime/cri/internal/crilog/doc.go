// Package crilog decodes the log files of a CRI runtime. They have one line for each part of a
// container's output:
//
//	2026-11-21T12:00:00.000000001Z stdout P the beginning of a long
//	2026-11-21T12:00:00.000000002Z stdout F  line
//
// The parts of a line (tag P, and F for the last one) are joined, separately for stdout and stderr.
// The package is pure: a Decoder gets the bytes of a file, in chunks of any size, and returns the
// container's output.
//
// A line of the file is truncated after 1 MiB. At most 1 MiB of a container's line is buffered
// until the line is complete; the parts of a longer line are returned as they are.
//
// It is a separate package so that it stays pure: package logfile, its only importer, reads files.
//
// k8s.io/cri-client/pkg/logs has such a decoder. It exports the decoder only together with the code
// that reads the files.
package crilog
