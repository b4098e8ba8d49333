package environ

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// MaxFileBytes is how much of a file is read for variables. A variable beyond it is not found.
const MaxFileBytes = 1 << 20

// FileNeed is a file in a volume of the pod to which variables refer.
type FileNeed struct{ Volume, Path string }

// String names the file for people.
func (n FileNeed) String() string {
	return fmt.Sprintf("file %s of volume %s", shown(n.Path), shown(n.Volume))
}

// File is a file that was read, or could not be.
type File struct {
	Data []byte // at most MaxFileBytes
	More bool   // the file is longer
	Err  error  // why there is no Data; it is published
}

// FileNeeds are the files to which the variables of a container refer, each once, in order.
func FileNeeds(c *v1.Container) []FileNeed {
	var all []FileNeed
	seen := map[FileNeed]bool{}
	for i := range c.Env {
		from := c.Env[i].ValueFrom
		if c.Env[i].Value != "" || from == nil || from.FileKeyRef == nil {
			continue
		}
		if need := needOfFile(from.FileKeyRef); !seen[need] {
			seen[need] = true
			all = append(all, need)
		}
	}
	return all
}

func needOfFile(ref *v1.FileKeySelector) FileNeed { return FileNeed{ref.VolumeName, ref.Path} }

// fileKey is the value of one key of a file. As in the kubelet, an empty value counts as none,
// and optional is about the key and not about the file.
func (r *resolution) fileKey(ref *v1.FileKeySelector) (value string, set bool, err error) {
	need := needOfFile(ref)
	file, read := r.Files[need]
	switch {
	case !read:
		return "", false, fmt.Errorf("the %s was not read", need)
	case file.Err != nil:
		return "", false, fmt.Errorf("the %s: %w", need, file.Err)
	}
	value, err = fileValue(file.Data, ref.Key)
	switch {
	case value != "":
		return value, true, nil
	case file.More: // The cut may have caused the error.
		return "", false, fmt.Errorf("the %s has no key %s in its first %d bytes", need, shown(ref.Key), MaxFileBytes)
	case err != nil:
		return "", false, fmt.Errorf("the %s: %w", need, err)
	case isSet(ref.Optional):
		return "", false, nil
	}
	return "", false, fmt.Errorf("the %s has no key %s: %w", need, shown(ref.Key), runtime.ErrNotFound)
}

// fileValue looks a variable up in a file, the first of its name. A file has lines that a POSIX
// shell could read: NAME='value', with any bytes but ' between the quotes, also line breaks,
// and nothing behind them but a comment. Nothing is expanded. Blank lines and lines that begin
// with # and blank space before a name are skipped. A blank after the = is an empty
// value, whatever follows. Anything else before the variable is an error that names the line,
// and never shows it; what follows the variable is not looked at.
func fileValue(data []byte, name string) (string, error) {
	lines := lineScanner{Scanner: bufio.NewScanner(bytes.NewReader(data))}
	for lines.next() {
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
		value, err := lines.quotedValue(rest)
		if err != nil || found == name {
			return value, err
		}
	}
	return "", lines.scanError()
}

const blanks = " \t"

// lineScanner counts lines. A line has fewer than bufio.MaxScanTokenSize bytes.
type lineScanner struct {
	*bufio.Scanner
	line int
}

func (l *lineScanner) next() bool {
	l.line++
	return l.Scan()
}

func (l *lineScanner) invalidLine(why string) error {
	return fmt.Errorf("%w: line %d: %s", ErrInvalid, l.line, why)
}

// scanError returns the error for which there is no next line; nil at the end of the file.
func (l *lineScanner) scanError() error {
	if l.Err() == nil {
		return nil
	}
	return l.invalidLine(fmt.Sprintf("it has %d bytes or more", bufio.MaxScanTokenSize))
}

// quotedValue returns the text between the quotes. rest is the line after the '='.
func (l *lineScanner) quotedValue(rest string) (string, error) {
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
		if !l.next() {
			if err := l.scanError(); err != nil {
				return "", err
			}
			l.line = begin
			return "", l.invalidLine("the quote is not closed")
		}
	}
}
