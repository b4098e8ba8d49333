//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
)

// The types of a file in its mode, as in <sys/stat.h>.
const (
	directoryType = 0o040000
	regularType   = 0o100000
)

// writeInitrd writes an archive that the kernel unpacks as its first file system. It contains this program as
// /init, the test binary, and the pattern of the tests to run.
func writeInitrd(out io.Writer, testBinary, pattern string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	files := [][2]string{{program, "init"}, {testBinary, testBinaryName}}
	a := archive{out: out}
	for _, dir := range []string{"proc", "sys", "tmp", "dev"} {
		a.addEntry(dir, directoryType|0o755, nil)
	}
	for _, file := range files {
		content, err := os.ReadFile(file[0])
		if err != nil {
			return err
		}
		a.addEntry(file[1], regularType|0o755, content)
	}
	a.addEntry(patternName, regularType|0o644, []byte(pattern))
	a.addEntry("TRAILER!!!", 0, nil) // The name that ends an archive.
	return a.err
}

// archive writes a cpio archive of the format "newc", the only one that the kernel reads.
type archive struct {
	out     io.Writer
	written int
	inode   int
	err     error // the first error of a write
}

// addEntry writes one file or directory.
func (a *archive) addEntry(name string, mode int, content []byte) {
	a.inode++
	header := fmt.Sprintf("070701%08X%08X", a.inode, mode)
	// Owner, group, links, time, size, two device numbers of the file and two of a device, length of the name, checksum.
	for _, number := range []int{0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0} {
		header += fmt.Sprintf("%08X", number)
	}
	a.writeBytes([]byte(header + name + "\x00"))
	a.padToFourBytes()
	a.writeBytes(content)
	a.padToFourBytes()
}

// padToFourBytes writes zeros until the length of the archive is a multiple of four.
func (a *archive) padToFourBytes() { a.writeBytes(make([]byte, -a.written&3)) }

// writeBytes writes bytes, unless an earlier write has failed.
func (a *archive) writeBytes(content []byte) {
	if a.err == nil {
		_, a.err = a.out.Write(content)
		a.written += len(content)
	}
}
