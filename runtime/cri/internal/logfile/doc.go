// Package logfile reads the log file of a container, which the runtime writes at
// the same time, and which somebody else may cut or put away.
//
// # Bounds
//
// A file is never in memory as a whole: it is read in blocks, from the end to find
// the last lines, and on from there. While a file is followed it is looked at five
// times a second, and whether the container has ended is asked once a second.
//
// # Rotation
//
// When another file stands at the path, what is left of the old one is read first,
// until nothing comes any more: a runtime makes the new file before it has written the
// last lines into the old one. So nothing is lost or doubled. A log that is not there
// while its container runs is looked for again for a second. When the file has become shorter it is read anew from its beginning. Of files
// that came and went between two looks nothing is known. Last lines and lines
// since a time are looked for in the file at the path only, as the kubelet does.
//
// # Trust
//
// A container may be able to write where its log lies. The last element of the path
// is not followed if it is a link, and nothing is read that is no regular file.
package logfile
