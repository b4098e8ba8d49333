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

// CheckPathElement returns an error if a name cannot be one element of a path.
func CheckPathElement(name string) error {
	const longest = 253
	switch {
	case name == "" || name == "." || name == "..":
		return fmt.Errorf("%w: %q", ErrPath, name)
	case len(name) > longest:
		return fmt.Errorf("%w: %q… has more than %d bytes", ErrPath, name[:20], longest)
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || strings.ContainsRune(`/\:`, r) }):
		return fmt.Errorf("%w: %q has a character that is not allowed", ErrPath, name)
	}
	return nil
}

// CleanSubPath returns the shortest form of a path in a volume. The path of the volume itself is ".".
// An absolute path, and a path with "..", is an error.
func CleanSubPath(p string) (string, error) {
	const longest = 4000
	switch {
	case len(p) > longest:
		return "", fmt.Errorf("%w: it has more than %d bytes", ErrPath, longest)
	case strings.HasPrefix(p, "/") || strings.Contains(p, `\`):
		return "", fmt.Errorf("%w: %q is not relative, or has a backslash", ErrPath, p)
	case strings.IndexByte(p, 0) >= 0:
		return "", fmt.Errorf("%w: %q has a NUL byte", ErrPath, p)
	case hasDotDot(p):
		return "", fmt.Errorf("%w: %q has '..'", ErrPath, p)
	}
	return path.Clean(p), nil
}

// hasDotDot reports whether a path has an element "..".
func hasDotDot(p string) bool { return slices.Contains(strings.Split(p, "/"), "..") }

// cleanFilePath returns the shortest form of the path of a file in a volume. It returns an error if the path is
// invalid, is the volume itself, leads out of the volume, or begins with "..".
func cleanFilePath(p string) (string, error) {
	clean, err := CleanSubPath(p)
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

// ReadableFile returns the shortest form of the path of a file that containers may have written into a
// volume of the pod. The volume must be an emptyDir, because only an emptyDir belongs to the pod alone.
func ReadableFile(pod *v1.Pod, name, p string) (string, error) {
	v := VolumeByName(pod, name)
	switch {
	case v == nil:
		return "", fmt.Errorf("the pod has no volume %q", name)
	case KindOf(v) != EmptyDir:
		return "", fmt.Errorf("the volume is of the kind %s: files are read in emptyDir volumes only", KindOf(v))
	}
	return cleanFilePath(p)
}

// cleanMountPath returns the shortest form of a mountPath as an absolute path. It returns an error if the path
// is empty or contains an element "..", a colon or a NUL byte.
func cleanMountPath(p string) (string, error) {
	switch {
	case p == "":
		return "", fmt.Errorf("%w: it is empty", ErrPath)
	case strings.IndexByte(p, 0) >= 0 || strings.Contains(p, ":"):
		return "", fmt.Errorf("%w: %q has a ':' or a NUL byte", ErrPath, p)
	case hasDotDot(p):
		return "", fmt.Errorf("%w: %q has '..'", ErrPath, p)
	}
	return path.Clean("/" + p), nil
}
