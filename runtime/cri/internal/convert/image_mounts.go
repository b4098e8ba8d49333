package convert

import (
	"strconv"
	"strings"

	"github.com/podkeel/podkeel/runtime"
)

// ImageMounts returns which images a runtime of this name and version mounts. The runtimes that are
// known pass over the fields that they do not know: containerd 2.1 mounts a whole image where a part
// is asked for.
func ImageMounts(name, version string) runtime.ImageMounts {
	var images, parts [2]int // the first versions that mount them
	switch name {
	case "containerd":
		images, parts = [2]int{2, 1}, [2]int{2, 2}
	case "cri-o":
		images, parts = [2]int{1, 31}, [2]int{1, 33}
	default:
		return runtime.ImageMountsUnknown
	}
	is, ok := majorMinor(version)
	switch {
	case !ok:
		return runtime.ImageMountsUnknown // It was built by hand.
	case isBefore(is, images):
		return runtime.ImageMountsNone
	case isBefore(is, parts):
		return runtime.ImageMountsWhole
	}
	return runtime.ImageMountsAll
}

// majorMinor reads the first two numbers of a version, as of "v2.4.2" or "1.6.20~ds1".
func majorMinor(version string) (out [2]int, ok bool) {
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

func isBefore(a, b [2]int) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }
