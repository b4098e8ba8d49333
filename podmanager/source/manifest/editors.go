package manifest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Names of files that editors and other tools leave behind. Earlier versions of this package did
// not know the later ones.
var (
	// formerEndings are of swap and temporary files that every version has ignored.
	formerEndings = []string{"~", ".swp", ".tmp"}
	// laterEndings are of vim's second swap file, of backups, of patch and merge tools, and of
	// the files that JetBrains' editors write first.
	laterEndings = []string{".swx", ".bak", ".orig", ".rej", "___jb_tmp___", "___jb_old___"}
)

// vimProbe is the file by which vim finds out whether it may write to a directory.
const vimProbe = "4913"

// ignored reports whether a name in a directory belongs to no manifest, but to a hidden file or to a
// file that an editor leaves behind (F9).
func ignored(name string) bool { return formerlyIgnored(name) || newlyIgnored(name) }

func formerlyIgnored(name string) bool {
	return strings.HasPrefix(name, ".") || hasEnding(name, formerEndings)
}

// newlyIgnored reports whether earlier versions of this package have read a file of this name.
func newlyIgnored(name string) bool {
	return name == vimProbe || hasEnding(name, laterEndings) ||
		len(name) > 1 && strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#") // Emacs saves its buffers under such a name.
}

func hasEnding(name string, endings []string) bool {
	return slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(name, end) })
}

// errEditorsName is the fault of a file that is read although its name is ignored.
var errEditorsName = errors.New("its name is that of a file that an editor leaves behind, and new files of such a name are ignored: rename it")

// wasReadBefore reports whether an earlier version of this package has read a file of a newly ignored
// name: then pods of it may run, and an upgrade ends none. state is Config.StateDir.
func wasReadBefore(state, path string) bool {
	if state == "" || !newlyIgnored(filepath.Base(path)) {
		return false
	}
	_, err := os.Lstat(filepath.Join(state, keeperOf(state, path).name))
	return !errors.Is(err, fs.ErrNotExist)
}
