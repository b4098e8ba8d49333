package environ

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// MaxFileBytes is how many bytes of a file are read for variables. A variable after them is not found.
const MaxFileBytes = 1 << 20

// FileRef is a reference of a variable to a file in a volume of the pod.
type FileRef struct{ Volume, Path string }

// String describes the file in messages.
func (n FileRef) String() string {
	return fmt.Sprintf("file %s of volume %s", printableName(n.Path), printableName(n.Volume))
}

// File is the content of a file, or the error of its read.
type File struct {
	Data []byte // at most MaxFileBytes
	More bool   // the file is longer
	Err  error  // why Data is missing; it is published
}

// FileRefs returns the files that the variables of a container refer to, each once, in order.
func FileRefs(c *v1.Container) []FileRef {
	var all []FileRef
	seen := map[FileRef]bool{}
	for i := range c.Env {
		from := c.Env[i].ValueFrom
		if c.Env[i].Value != "" || from == nil || from.FileKeyRef == nil {
			continue
		}
		if need := volumeAndPathOfFileKey(from.FileKeyRef); !seen[need] {
			seen[need] = true
			all = append(all, need)
		}
	}
	return all
}

// volumeAndPathOfFileKey returns the volume name and the path of a fileKeyRef, without its key.
func volumeAndPathOfFileKey(ref *v1.FileKeySelector) FileRef {
	return FileRef{ref.VolumeName, ref.Path}
}

// valueOfFileKey returns the value of a fileKeyRef from a file that the caller has read before. found is false
// if the key is missing and optional. An empty value counts as missing. It returns an error for a missing file,
// as the kubelet does, even if the key is optional. It also returns an error for a missing key in a file that
// was too long to be read completely.
func (r *resolution) valueOfFileKey(ref *v1.FileKeySelector) (value string, found bool, err error) {
	need := volumeAndPathOfFileKey(ref)
	file, read := r.Files[need]
	switch {
	case !read:
		return "", false, fmt.Errorf("the %s was not read", need)
	case file.Err != nil:
		return "", false, fmt.Errorf("the %s: %w", need, file.Err)
	}
	value, err = parseFileValue(file.Data, ref.Key)
	switch {
	case value != "":
		return value, true, nil
	case file.More: // The error may be in the part that was not read.
		return "", false, fmt.Errorf("the %s has no key %s in its first %d bytes", need, printableName(ref.Key), MaxFileBytes)
	case err != nil:
		return "", false, fmt.Errorf("the %s: %w", need, err)
	case isTrue(ref.Optional):
		return "", false, nil
	}
	return "", false, fmt.Errorf("the %s has no key %s: %w", need, printableName(ref.Key), runtime.ErrNotFound)
}

// parseFileValue returns the value of the first variable with a name in a file of lines NAME='value', or "" if
// there is none. A value may span several lines. An error has the number of the invalid line and not its text,
// which may be secret.
func parseFileValue(data []byte, name string) (string, error) {
	lines := lineScanner{Scanner: bufio.NewScanner(bytes.NewReader(data))}
	for lines.scanLine() {
		line := strings.TrimLeft(lines.Text(), blanks)
		if line == "" || line[0] == '#' {
			continue
		}
		found, rest, ok := strings.Cut(line, "=")
		switch {
		case !ok:
			return "", lines.invalidLine("it has no '='")
		case strings.Trim(found, blanks) == "":
			return "", lines.invalidLine("there is no name before the '='")
		case strings.TrimRight(found, blanks) != found:
			return "", lines.invalidLine("there is a blank before the '='")
		}
		value, err := lines.readQuotedValue(rest)
		if err != nil || found == name {
			return value, err
		}
	}
	return "", lines.scanError()
}

const blanks = " \t"

// lineScanner scans lines and counts them. A line has fewer than bufio.MaxScanTokenSize bytes.
type lineScanner struct {
	*bufio.Scanner
	line int
}

// scanLine reads the next line and increments the line number. It returns false at the end of the file, and
// after an error.
func (l *lineScanner) scanLine() (scanned bool) {
	l.line++
	return l.Scan()
}

// invalidLine returns an ErrInvalid with the number of the current line and the reason why.
func (l *lineScanner) invalidLine(why string) error {
	return fmt.Errorf("%w: line %d: %s", ErrInvalid, l.line, why)
}

// scanError returns an error if a line was too long to read, and nil at the normal end of the file.
func (l *lineScanner) scanError() error {
	if l.Err() == nil {
		return nil
	}
	return l.invalidLine(fmt.Sprintf("it has %d bytes or more", bufio.MaxScanTokenSize))
}

// readQuotedValue returns the text between single quotes, and reads further lines up to the closing quote. rest
// is the text after the '='. If rest begins with a blank, the value is empty. Anything but a comment after the
// closing quote is an error.
func (l *lineScanner) readQuotedValue(rest string) (string, error) {
	const quote = "'"
	if strings.TrimLeft(rest, blanks) != rest {
		return "", nil
	}
	rest, quoted := strings.CutPrefix(rest, quote)
	if !quoted {
		return "", l.invalidLine("the value is not between single quotes")
	}
	var value strings.Builder
	for begin := l.line; ; rest = l.Text() {
		text, after, closed := strings.Cut(rest, quote)
		value.WriteString(text)
		if closed {
			if after = strings.TrimLeft(after, blanks); after != "" && after[0] != '#' {
				return "", l.invalidLine("there is something after the closing quote")
			}
			return value.String(), nil
		}
		value.WriteByte('\n')
		if !l.scanLine() {
			if err := l.scanError(); err != nil {
				return "", err
			}
			l.line = begin
			return "", l.invalidLine("the quote is not closed")
		}
	}
}
