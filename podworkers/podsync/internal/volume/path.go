package volume

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// ErrPath: a name or a path cannot be used.
var ErrPath = errors.New("no usable path")

// Element wants a name that can be one element of a path.
func Element(name string) error {
	const longest = 253
	switch {
	case name == "" || name == "." || name == "..":
		return fmt.Errorf("%w: %q", ErrPath, name)
	case len(name) > longest:
		return fmt.Errorf("%w: %q… has more than %d bytes", ErrPath, name[:20], longest)
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || strings.ContainsRune(`/\:`, r) }):
		return fmt.Errorf("%w: %q has a character that does not belong there", ErrPath, name)
	}
	return nil
}

// Below is a path below a volume, in its shortest form; that of the volume
// itself is ".". It is an error if it is absolute or has "..".
func Below(p string) (string, error) {
	const longest = 4000
	switch {
	case len(p) > longest:
		return "", fmt.Errorf("%w: it has more than %d bytes", ErrPath, longest)
	case strings.HasPrefix(p, "/") || strings.Contains(p, `\`):
		return "", fmt.Errorf("%w: %q is not relative, or has a backslash", ErrPath, p)
	case strings.IndexByte(p, 0) >= 0:
		return "", fmt.Errorf("%w: %q has a NUL byte", ErrPath, p)
	case upwards(p):
		return "", fmt.Errorf("%w: %q has '..'", ErrPath, p)
	}
	return path.Clean(p), nil
}

func upwards(p string) bool { return slices.Contains(strings.Split(p, "/"), "..") }

// fileBelow is a path at which a file can be written in a volume.
func fileBelow(p string) (string, error) {
	clean, err := Below(p)
	switch {
	case err != nil:
		return "", err
	case clean == ".":
		return "", fmt.Errorf("%w: %q is the volume itself", ErrPath, p)
	case strings.HasPrefix(clean, ".."):
		return "", fmt.Errorf("%w: %q begins with '..'", ErrPath, p)
	}
	return clean, nil
}

// ReadableFile is the path, in its shortest form, of a file that containers have written into
// a volume of the pod: an emptyDir, as nothing else is theirs alone.
func ReadableFile(pod *v1.Pod, name, p string) (string, error) {
	v := Find(pod, name)
	switch {
	case v == nil:
		return "", fmt.Errorf("the pod has no volume %q", name)
	case Of(v) != EmptyDir:
		return "", fmt.Errorf("the volume is of the kind %s: files are read in emptyDir volumes only", Of(v))
	}
	return fileBelow(p)
}

// inContainer is where something is mounted: absolute, in its shortest form.
func inContainer(p string) (string, error) {
	switch {
	case p == "":
		return "", fmt.Errorf("%w: it is empty", ErrPath)
	case strings.IndexByte(p, 0) >= 0 || strings.Contains(p, ":"):
		return "", fmt.Errorf("%w: %q has a ':' or a NUL byte", ErrPath, p)
	case upwards(p):
		return "", fmt.Errorf("%w: %q has '..'", ErrPath, p)
	}
	return path.Clean("/" + p), nil
}
