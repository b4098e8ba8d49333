package convert

import (
	"strconv"
	"strings"

	"github.com/podkeel/podkeel/runtime"
)

// ImageMounts returns which image mounts a runtime with this name and version supports. A runtime
// ignores fields that it does not know: containerd 2.1 mounts the whole image if a directory of it
// is requested.
func ImageMounts(name, version string) runtime.ImageMounts {
	var images, parts [2]int // the first versions with support
	switch name {
	case "containerd":
		images, parts = [2]int{2, 1}, [2]int{2, 2}
	case "cri-o":
		images, parts = [2]int{1, 31}, [2]int{1, 33}
	default:
		return runtime.ImageMountsUnknown
	}
	is, ok := parseMajorMinor(version)
	switch {
	case !ok:
		return runtime.ImageMountsUnknown // A custom build.
	case isLowerVersion(is, images):
		return runtime.ImageMountsNone
	case isLowerVersion(is, parts):
		return runtime.ImageMountsWhole
	}
	return runtime.ImageMountsAll
}

// parseMajorMinor parses the first two numbers of a version such as "v2.4.2" or "1.6.20~ds1". ok is false for
// any other form.
func parseMajorMinor(version string) (out [2]int, ok bool) {
	major, rest, ok := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	if !ok {
		return out, false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		rest = rest[:end]
	}
	var errMajor, errMinor error
	out[0], errMajor = strconv.Atoi(major)
	out[1], errMinor = strconv.Atoi(rest)
	return out, errMajor == nil && errMinor == nil
}

// isLowerVersion reports whether version a (major, minor) is lower than version b.
func isLowerVersion(a, b [2]int) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }
