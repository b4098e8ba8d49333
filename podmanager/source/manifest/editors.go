package manifest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Suffixes of files that editors and other tools leave behind. Earlier versions of this package did not ignore all of
// them.
var (
	// alwaysIgnoredSuffixes end the names of swap and temporary files that every version has ignored.
	alwaysIgnoredSuffixes = []string{"~", ".swp", ".tmp"}
	// newlyIgnoredSuffixes end the names of vim's second swap file, of backups, of patch and merge tools, and of the files
	// that JetBrains' editors write first.
	newlyIgnoredSuffixes = []string{".swx", ".bak", ".orig", ".rej", "___jb_tmp___", "___jb_old___"}
)

// vimProbe is the file that vim creates to test whether it may write to a directory.
const vimProbe = "4913"

// isIgnoredName reports whether a name belongs to a hidden file or to a temporary or backup file of an editor
// (F9).
func isIgnoredName(name string) bool { return isAlwaysIgnored(name) || isNewlyIgnored(name) }

// isAlwaysIgnored reports whether a name belongs to the files that every version of this package ignores:
// hidden files, and files with certain suffixes.
func isAlwaysIgnored(name string) bool {
	return strings.HasPrefix(name, ".") || hasAnySuffix(name, alwaysIgnoredSuffixes)
}

// isNewlyIgnored reports whether this version of the package ignores files of this name while earlier versions
// read them.
func isNewlyIgnored(name string) bool {
	return name == vimProbe || hasAnySuffix(name, newlyIgnoredSuffixes) ||
		len(name) > 1 && strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#") // Emacs saves its buffers under such a name.
}

// hasAnySuffix reports whether the name has at least one of the suffixes.
func hasAnySuffix(name string, suffixes []string) bool {
	return slices.ContainsFunc(suffixes, func(end string) bool { return strings.HasSuffix(name, end) })
}

// errEditorFileName is the fault of a file that is read although its name is ignored.
var errEditorFileName = errors.New("its name is that of a file that an editor leaves behind, and new files of such a name are ignored: rename it")

// wasReadByEarlierVersion reports whether stateDir has a saved copy of a file whose name is newly ignored. An
// earlier version of this package has then read the file. Its pods may run, and an upgrade must not terminate
// them. If stateDir cannot be read, the result is true.
func wasReadByEarlierVersion(stateDir, path string) bool {
	if stateDir == "" || !isNewlyIgnored(filepath.Base(path)) {
		return false
	}
	_, err := os.Lstat(filepath.Join(stateDir, fileVersionStore(stateDir, path).name))
	return !errors.Is(err, fs.ErrNotExist)
}
