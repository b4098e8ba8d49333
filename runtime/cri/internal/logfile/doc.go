// Package logfile reads the log file of a container while the runtime writes it and another program
// may truncate or rotate it.
//
// A file is read in blocks, backwards from the end to find the last lines, and then forwards. It is
// never in memory as a whole. With Follow, the file is checked five times a second, and the state
// of the container once a second.
//
// When another file appears at the path, the rest of the old file is read first, until nothing more
// is appended: a runtime creates the new file before it has written the last lines to the old one.
// So no line is lost or repeated. A missing log of a running container is opened again for a
// second. A file that became shorter is read again from its beginning. A file that appears and
// disappears between two checks is missed. Tail and Since only apply to the file at the path, as in
// the kubelet.
//
// A container may have write access to the directory of its log. Symbolic links are therefore not
// followed, and only regular files are read.
//
// k8s.io/cri-client/pkg/logs follows such files too. It calls a CRI client for the container's
// state and uses its own file watches, so a caller can limit neither.
package logfile
