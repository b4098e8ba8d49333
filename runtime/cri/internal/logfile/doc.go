// Package logfile reads the log file of a container while the runtime writes it and another
// program may cut or rotate it.
//
// A file is read in blocks, from the end to find the last lines, and on from there; it is
// never in memory as a whole. A follower checks the file five times a second, and once a
// second whether the container has ended.
//
// When another file appears at the path, the rest of the old one is read first, until
// nothing more comes: a runtime makes the new file before it has written the last lines
// into the old one. So no line is lost or doubled. A missing log of a running container is
// looked for again for a second. A file that became shorter is read again from its
// beginning. Files that came and went between two checks are not seen. Last lines and lines
// since a time are taken from the file at the path only, as in the kubelet.
//
// A container may be able to write to the directory of its log. A path that ends in a link
// is not followed, and only regular files are read.
//
// k8s.io/cri-client/pkg/logs follows such files too. It asks a CRI client about the container and
// waits by file watches of its own, so a caller can bound neither.
package logfile
